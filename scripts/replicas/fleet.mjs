/** The processes of a run: the servers, and replicas of the gateway that are killed and started again. */
import { fork, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const program = (name) => fileURLToPath(new URL(name, import.meta.url));

/** Starts the servers behind the gateway. */
export async function startUpstreams() {
  const child = fork(program("./upstreams.mjs"));
  const [ports] = await once(child, "message");
  return {
    servers: {
      legacy: { url: `http://127.0.0.1:${ports.legacy}/mcp`, protocol: "legacy" },
      modern: { url: `http://127.0.0.1:${ports.modern}/mcp`, protocol: { pin: "2026-07-28" } },
    },
    async report() {
      const answered = once(child, "message");
      child.send("report");
      return (await answered)[0];
    },
    async close() {
      const exited = once(child, "exit");
      child.disconnect();
      await exited;
    },
  };
}

/** Starts the replicas. `replicas` lists those that run, with their ports. */
export async function startFleet(count, options) {
  const replicas = [];
  let started = 0;
  let startMs = 0;

  async function start(index) {
    const startedAt = performance.now();
    const child = spawn(process.execPath, [program("./gateway.mjs"), JSON.stringify(options)], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    child.stdin.on("error", () => {});
    const exited = once(child, "exit");
    const [line] = await Promise.race([
      once(child.stdout, "data"),
      exited.then(([code]) => Promise.reject(new Error(`A replica ended with ${code} at its start`))),
    ]);
    startMs = Math.max(startMs, performance.now() - startedAt);
    replicas[index] = {
      port: JSON.parse(line).port,
      name: `replica ${++started}`,
      child,
      exited,
      killedAt: undefined,
    };
  }
  await Promise.all(Array.from({ length: count }, (_, index) => start(index)));
  let turn = 0;

  return {
    replicas,
    get kills() {
      return started - count;
    },
    /** The longest start of a replica. */
    get startMs() {
      return startMs;
    },
    /** Kills the next replica with -9 and starts another in its place; resolves when that one listens. */
    async killNext() {
      const index = turn++ % count;
      const replica = replicas[index];
      replica.killedAt = performance.now();
      replica.child.kill("SIGKILL");
      await replica.exited;
      await start(index);
    },
    async close() {
      for (const { child } of replicas) child.stdin.end();
      await Promise.all(replicas.map(({ exited }) => exited));
    },
  };
}
