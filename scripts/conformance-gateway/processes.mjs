/** Starts what a conformance run needs, and leaves nothing behind. */
import { spawn, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startRoundRobin } from "../../packages/gateway/test/fixture/round-robin.mjs";
import { startStdioPipe } from "../../packages/gateway/test/fixture/stdio-pipe.mjs";

const START_MS = 20_000;
const EXIT_MS = 5_000;
const REPLICAS = 3;
/** The conformance server is in the middle of the others: neither its tools nor its resources come first. */
const PLACE = 5;

const fixture = (name) =>
  fileURLToPath(new URL(`../../packages/gateway/test/fixture/${name}`, import.meta.url));
const CONFORMANCE_SERVER = fixture("conformance-server.mjs");

/** What was started, in order; `close()` ends it in reverse order. */
export function createCleanup() {
  const ends = [];
  return {
    add: (end) => void ends.push(end),
    async close() {
      for (const end of ends.splice(0).reverse()) await end();
    },
  };
}

/** A program that prints `{"port":…}` first and ends with its standard input. */
async function startProgram(args, cleanup, env = {}) {
  const child = spawn(process.execPath, args, {
    stdio: ["pipe", "pipe", "inherit"],
    env: { ...process.env, ...env },
  });
  const exited = once(child, "exit");
  child.stdin.on("error", () => {});
  cleanup.add(async () => {
    child.stdin.end();
    const timer = setTimeout(() => {
      console.error(`${args[0]} did not end with its standard input and was killed.`);
      process.exitCode = 1;
      child.kill("SIGKILL");
    }, EXIT_MS);
    await exited;
    clearTimeout(timer);
  });
  const timeout = AbortSignal.timeout(START_MS);
  const [line] = await Promise.race([
    once(child.stdout, "data", { signal: timeout }),
    exited.then(([code]) => {
      throw new Error(`${args[0]} ended with code ${code} before it was ready`);
    }),
  ]);
  return JSON.parse(String(line)).port;
}

/**
 * Starts a row's servers and what stands before them.
 *
 * @param row `{ transport, upstreams, protocol, store }`; without `protocol` the conformance server itself is asked
 * @returns the address for the runner
 */
export async function startRow({ transport, upstreams, protocol, store }, cleanup) {
  const url = (port) => `http://127.0.0.1:${port}/mcp`;
  const pipe = async (args) => {
    const { port, close } = await startStdioPipe({ command: process.execPath, args });
    cleanup.add(close);
    return url(port);
  };
  if (protocol === undefined && transport === "stdio") return pipe([CONFORMANCE_SERVER, "--stdio"]);
  const server = url(await startProgram([CONFORMANCE_SERVER], cleanup));
  if (protocol === undefined) return server;

  const servers = await serversOf(server, { upstreams, protocol }, cleanup);
  const gateway = (more) => [fixture("gateway.mjs"), JSON.stringify({ servers, ...more })];
  if (transport === "stdio") return pipe(gateway({ transport }));
  if (transport === "http") return url(await startProgram(gateway({ transport }), cleanup));

  const shared = await (store === "redis" ? startRedis(cleanup) : sqliteFile(cleanup));
  const env = { TOOLPORT_STORE_KEY: randomBytes(32).toString("base64") };
  const replica = () => startProgram(gateway({ transport: "http", store: shared }), cleanup, env);
  const ports = await Promise.all(Array.from({ length: REPLICAS }, replica));
  const balancer = await startRoundRobin(ports);
  cleanup.add(balancer.close);
  return url(balancer.port);
}

async function serversOf(conformance, { upstreams, protocol }, cleanup) {
  const entry = { url: conformance, protocol };
  if (upstreams === 1) return { conformance: entry };
  const port = await startProgram([fixture("plain-servers.mjs"), String(upstreams - 1)], cleanup);
  const plain = Array.from({ length: upstreams - 1 }, (_, index) => [
    `plain${index + 1}`,
    { url: `http://127.0.0.1:${port}/${index + 1}`, protocol },
  ]);
  return Object.fromEntries([
    ...plain.slice(0, PLACE - 1),
    ["conformance", entry],
    ...plain.slice(PLACE - 1),
  ]);
}

async function sqliteFile(cleanup) {
  const folder = await mkdtemp(join(tmpdir(), "toolport-conformance-"));
  cleanup.add(() => rm(folder, { recursive: true, force: true }));
  return { kind: "sqlite", path: join(folder, "state.db") };
}

export const hasRedis = () => spawnSync("redis-server", ["--version"]).status === 0;

async function startRedis(cleanup) {
  const port = await freePort();
  const folder = await mkdtemp(join(tmpdir(), "toolport-conformance-"));
  cleanup.add(() => rm(folder, { recursive: true, force: true }));
  const args = ["--port", String(port), "--bind", "127.0.0.1", "--dir", folder, "--save", ""];
  const child = spawn("redis-server", args, { stdio: ["ignore", "pipe", "inherit"] });
  const exited = once(child, "exit");
  cleanup.add(async () => {
    child.kill();
    await exited;
  });
  let log = "";
  for await (const text of child.stdout.setEncoding("utf8").iterator({ destroyOnReturn: false })) {
    log += text;
    if (log.includes("Ready to accept connections")) break;
  }
  child.stdout.resume();
  return { kind: "redis", url: `redis://127.0.0.1:${port}/0` };
}

async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}
