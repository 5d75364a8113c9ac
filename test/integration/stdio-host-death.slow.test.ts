/** No server outlives its host, however the host ends, kill -9 included. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { transpileEverything } from "../fixtures/oauth-worker-source.js";
import { isAlive, LEAN_SERVER, pidFolder } from "../fixtures/stdio-peer.js";
import { useServer } from "../support/use-server.js";
import { waitFor } from "../support/wait-for.js";

const HOST = fileURLToPath(new URL("../fixtures/hosts/stdio-host.mjs", import.meta.url));
const STUBBORN = ["--ignore-eof", "--ignore-signals", "--child"];

interface Report {
  pids: number[];
  guardian: number;
  errors: { code: string; errno?: string }[];
  newListeners: number;
}

let scratch: ReturnType<typeof pidFolder>;
let host: ChildProcess | undefined;

const source = useServer(() => transpileEverything({ useBuild: false }));

beforeEach(() => {
  scratch = pidFolder();
});

afterEach(() => {
  host?.kill("SIGKILL");
  for (const pid of scratch.pids().filter(isAlive)) process.kill(pid, "SIGKILL");
  scratch.remove();
});

const stubborn = () => [process.execPath, LEAN_SERVER, ...STUBBORN, `--pid-file=${scratch.file}`];
const behindShell = () => ["sh", "-c", '"$0" "$@"; true', ...stubborn()];

/** Starts a host and waits until its servers have answered. */
async function startHost(way: string, servers: string[][], limit?: number) {
  const list = servers.flatMap((server, at) => (at === 0 ? server : ["--", ...server]));
  const args = [HOST, source.folder, way, ...list];
  const child =
    limit === undefined
      ? spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] })
      : spawn("sh", ["-c", `ulimit -n ${limit}; exec "$0" "$@"`, process.execPath, ...args], {
          stdio: ["ignore", "pipe", "pipe"],
        });
  host = child;
  child.stderr?.resume();
  const lines: string[] = [];
  const exited = new Promise<{ code: number | null; signal: string | null }>((resolve) => {
    child.once("exit", (code, signal) => resolve({ code, signal }));
  });
  const report = await new Promise<Report>((resolve, reject) => {
    createInterface({ input: child.stdout! }).on("line", (line) => {
      lines.push(line);
      if (line.startsWith("ready ")) resolve(JSON.parse(line.slice(6)));
    });
    exited.then(({ code }) => reject(new Error(`The host ended early with ${code}`)));
  });
  return { child, report, exited, lines };
}

/** All servers, their children and the guardian. */
async function expectAllGone(report: Report, servers: number): Promise<void> {
  expect(scratch.pids()).toHaveLength(2 * servers);
  const all = [...report.pids, report.guardian, ...scratch.pids()];
  await waitFor(() => !all.some(isAlive));
}

describe.skipIf(process.platform === "win32")("the end of the host", () => {
  it("kill -9: stubborn servers end, also behind sh -c", async () => {
    const { child, report, exited } = await startHost("wait", [stubborn(), behindShell()]);
    child.kill("SIGKILL");
    await exited;
    await expectAllGone(report, 2);
  });

  it("kill -9 after the guardian was killed: another guardian has taken over", async () => {
    const { child, report, exited } = await startHost("wait", [stubborn()]);
    process.kill(report.guardian, "SIGKILL");
    const isGuardedAgain = () =>
      execFileSync("ps", ["-A", "-o", "ppid=,args="], { encoding: "utf8" })
        .split("\n")
        .some((line) => line.trim().startsWith(`${child.pid} `) && line.includes("/bin/sh -c trap"));
    await waitFor(() => !isAlive(report.guardian) && isGuardedAgain());
    child.kill("SIGKILL");
    await exited;
    await expectAllGone(report, 1);
  });

  it.each([
    ["SIGTERM", "wait", { code: null, signal: "SIGTERM" }],
    ["SIGINT", "wait", { code: null, signal: "SIGINT" }],
    ["SIGTERM", "handle", { code: 4, signal: null }],
    ["nothing", "exit", { code: 5, signal: null }],
    ["nothing", "throw", { code: 1, signal: null }],
  ] as const)("%s in a host that does %s: the exit code is unchanged", async (signal, way, expected) => {
    const { child, report, exited } = await startHost(way, [stubborn()]);
    if (signal !== "nothing") child.kill(signal);
    expect(await exited).toEqual(expected);
    expect(report.newListeners).toBe(0);
    await expectAllGone(report, 1);
  });

  it("kill -9 without a shell: a guardian in JavaScript does the same", async () => {
    const script = `
      const { Guardian } = await import(process.argv[1]);
      const { spawn } = await import("node:child_process");
      const [command, ...args] = process.argv.slice(2);
      const guardian = new Guardian(null);
      guardian.prepare();
      const { pid } = spawn(command, args, { detached: true, stdio: ["ignore", "pipe", "ignore"] });
      guardian.register(pid);
      guardian.register(2 ** 22 + 1);
      await guardian.unregister(2 ** 22 + 1);
      console.log(JSON.stringify({ pids: [pid], guardian: guardian.pid }));`;
    const args = [
      "--input-type=module",
      "-e",
      script,
      `${source.folder}/core/transports/stdio/server-process.js`,
      ...stubborn(),
    ];
    host = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
    const line = await new Promise<string>((resolve) => host?.stdout?.once("data", resolve));
    const report: Report = JSON.parse(String(line));
    await waitFor(() => scratch.pids().length === 2);
    // The guardian must be running before it can read the end of its input.
    host.kill("SIGKILL");
    await expectAllGone(report, 1);
  });

  it("the end of a worker thread ends its servers, and only those", async () => {
    const worker = new Worker(HOST, { argv: [source.folder, "wait", ...stubborn()], stdout: true });
    const line = await new Promise<string>((resolve) => worker.stdout.once("data", resolve));
    await worker.terminate();
    await expectAllGone(JSON.parse(String(line).slice(6)), 1);
  });

  it("a host that closed its servers exits, and so does the guardian", async () => {
    const { report, exited, lines } = await startHost("return", [[process.execPath, LEAN_SERVER]]);
    expect(await exited).toEqual({ code: 0, signal: null });
    expect(lines[1]).toBe('closed {"guardian":null}');
    expect([...report.pids, report.guardian].filter(isAlive)).toEqual([]);
  });

  it("a host out of file descriptors gets typed errors and keeps the servers it has", async () => {
    const server = [process.execPath, LEAN_SERVER];
    const { report, exited } = await startHost(
      "limit",
      Array.from({ length: 20 }, () => server),
      50,
    );
    expect(await exited).toEqual({ code: 0, signal: null });
    expect(report.pids.length).toBeGreaterThan(0);
    expect(report.errors.length).toBeGreaterThan(0);
    for (const error of report.errors) expect(error.code).toBe("SPAWN_FAILED");
    expect(report.errors.map(({ errno }) => errno)).toContain("EMFILE");
    expect(report.pids.filter(isAlive)).toEqual([]);
  });
});
