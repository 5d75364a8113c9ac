/** Processes that share a store with the test, each with its own port. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { ToolportOptions } from "toolport";
import { transpileEverything } from "../fixtures/oauth-worker-source.js";
import type { StorePlace } from "./oauth-stores.js";

const HOST = fileURLToPath(new URL("../fixtures/hosts/oauth-worker.mjs", import.meta.url));

/** The outcome of a call: a result or an error. */
export interface WorkerCall {
  readonly text?: string;
  readonly error?: { name: string; code: string; message: string; authUrl?: string };
}

export interface WorkerReport {
  readonly state: string;
  readonly authUrl?: string;
  readonly error?: WorkerCall["error"];
}

export interface OAuthWorker {
  readonly pid: number;
  connect(): Promise<Record<string, WorkerReport>>;
  call(tool: string, options?: { times?: number; principal?: string }): Promise<WorkerCall[]>;
  /** Sends the login callback to this process. */
  callback(url: URL | string): Promise<{ status: number; body: string }>;
  /** Closes port and store; resolves with the exit code when the process has exited. */
  close(): Promise<number | null>;
  kill(): Promise<void>;
}

export interface WorkerSettings {
  readonly store: StorePlace;
  readonly options: Pick<ToolportOptions, "mcpServers" | "callbackUrl">;
}

export interface WorkerSource extends Disposable {
  start(settings: WorkerSettings): Promise<OAuthWorker>;
}

/** Transpiles everything once; disposing it ends its processes. */
export async function prepareWorkers(): Promise<WorkerSource> {
  const source = await transpileEverything();
  const children = new Set<ChildProcess>();
  return {
    async start(settings) {
      const child = fork(HOST, [source.folder, JSON.stringify(settings)], {
        execArgv: ["--no-warnings"],
        stdio: ["ignore", "ignore", "pipe", "ipc"],
      });
      children.add(child);
      child.once("exit", () => children.delete(child));
      return connectTo(child);
    },
    [Symbol.dispose]() {
      for (const child of children) child.kill("SIGKILL");
      source[Symbol.dispose]();
    },
  };
}

interface Message {
  id?: number;
  ready?: true;
  answer?: unknown;
  error?: WorkerCall["error"];
  unhandled?: string;
}

async function connectTo(child: ChildProcess): Promise<OAuthWorker> {
  const waiting = new Map<number, { resolve(value: never): void; reject(reason: Error): void }>();
  const exited = once(child, "exit") as Promise<[number | null]>;
  let lastId = 0;
  let words = "";
  let unhandled: string | undefined;
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    words = (words + text).slice(-2_000);
  });
  const ended = () => new Error(`The process has ended: ${unhandled ?? words}`);
  const ready = new Promise<void>((resolve, reject) => {
    exited.then(() => reject(ended()));
    child.on("message", ({ id, ready: isReady, answer, error, unhandled: news }: Message) => {
      if (isReady) resolve();
      unhandled ??= news;
      const asked = id === undefined ? undefined : waiting.get(id);
      if (asked === undefined || id === undefined) return;
      waiting.delete(id);
      if (error === undefined) asked.resolve(answer as never);
      else asked.reject(Object.assign(new Error(error.message), error));
    });
  });
  exited.then(() => {
    for (const { reject } of waiting.values()) reject(ended());
    waiting.clear();
  });
  await ready;

  const ask = <T>(command: string, details: object = {}): Promise<T> =>
    new Promise((resolve, reject) => {
      if (unhandled !== undefined) return reject(new Error(`Unhandled in a worker: ${unhandled}`));
      if (!child.connected) return reject(ended());
      const id = ++lastId;
      waiting.set(id, { resolve, reject });
      child.send({ id, command, ...details });
    });
  return {
    pid: child.pid as number,
    connect: () => ask("connect"),
    call: (tool, options) => ask("call", { tool, ...options }),
    callback: (url) => ask("callback", { url: String(url) }),
    async close() {
      await ask("close");
      const [code] = await exited;
      return code;
    },
    async kill() {
      child.kill("SIGKILL");
      await exited;
    },
  };
}
