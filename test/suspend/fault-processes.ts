/** Starts the server and the clients of the fault rows in processes of their own. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const SERVER = fileURLToPath(new URL("./fault-server.mjs", import.meta.url));
const HOST = fileURLToPath(new URL("./fault-host.mjs", import.meta.url));

interface FaultServerOptions {
  /** The description of every tool. */
  description?: string;
  /** Signs the state of the server. */
  stateKey?: string;
  /** How long its state is valid. @default 600, as in the SDK */
  stateSeconds?: number;
  clockAheadMs?: number;
  /** Waits up to this time before and after the work of a tool. */
  maxDelayMs?: number;
}

/** The server of fault-server.mjs. Address and counts stay the same across restarts. */
export interface FaultServer extends AsyncDisposable {
  readonly url: string;
  /** Number of `tools/call` requests with this id. */
  requests(id: string): number;
  /** Number of effects of the calls with this id. */
  commits(id: string): number;
  /** Effects by id. */
  allCommits(): ReadonlyMap<string, number>;
  kill(): Promise<void>;
  /** Kills it if it runs, and starts it with these options. */
  restart(options?: FaultServerOptions): Promise<void>;
}

export async function startFaultServer(options: FaultServerOptions = {}): Promise<FaultServer> {
  const folder = mkdtempSync(join(tmpdir(), "toolport-suspend-"));
  const log = join(folder, "log");
  writeFileSync(log, "");
  let port = 0;
  let child: ChildProcess | undefined;
  const counts = (kind: string) => {
    const found = new Map<string, number>();
    for (const line of readFileSync(log, "utf8").split("\n"))
      if (line.startsWith(`${kind} `)) {
        const id = line.slice(kind.length + 1);
        found.set(id, (found.get(id) ?? 0) + 1);
      }
    return found;
  };
  const server: FaultServer = {
    get url() {
      return `http://127.0.0.1:${port}/mcp`;
    },
    requests: (id) => counts("request").get(id) ?? 0,
    commits: (id) => counts("commit").get(id) ?? 0,
    allCommits: () => counts("commit"),
    async kill() {
      await end(child);
      child = undefined;
    },
    async restart(changes = {}) {
      await server.kill();
      child = spawn(process.execPath, [SERVER, JSON.stringify({ port, log, ...changes })], {
        stdio: ["pipe", "pipe", "inherit"],
      });
      const [line] = await once(child.stdout!, "data");
      port = Number(String(line));
    },
    async [Symbol.asyncDispose]() {
      await server.kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
  await server.restart(options);
  return server;
}

async function end(child: ChildProcess | undefined): Promise<void> {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "close");
  child.kill("SIGKILL");
  await ended;
}

/** A store that processes share. */
export interface SharedPlace {
  readonly kind: string;
  readonly url: string;
  readonly namespace: string;
  readonly key: string;
}

export interface HostJob {
  readonly store: SharedPlace;
  readonly servers: Readonly<Record<string, { url: string }>>;
  /** A method of the port and its arguments. */
  readonly job: readonly unknown[];
  readonly stopAt?: "marked" | "ending";
  /** Connects first, prints "ready" and begins after `go()`. */
  readonly waits?: boolean;
  readonly options?: object;
}

/** The client of fault-host.mjs. */
export interface FaultHost {
  /** The next line that it prints. */
  next<T>(): Promise<T>;
  go(): void;
  kill(): Promise<void>;
}

export function startFaultHost(job: HostJob): FaultHost {
  const child = spawn(process.execPath, [HOST, JSON.stringify(job)], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const lines = createInterface({ input: child.stdout! })[Symbol.asyncIterator]();
  return {
    async next<T>() {
      const { value, done } = await lines.next();
      if (done) throw new Error("The host ended without a line");
      return JSON.parse(value) as T;
    },
    go: () => void child.stdin!.write("go\n"),
    kill: () => end(child),
  };
}

/** Runs a job to its end. */
export async function runFaultHost<T = Record<string, unknown>>(job: HostJob): Promise<T> {
  const host = startFaultHost(job);
  try {
    return await host.next<T>();
  } finally {
    await host.kill();
  }
}
