/** Processes of a web application behind a load balancer, and its users. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { ToolportOptions } from "toolport";
import { transpileEverything } from "../fixtures/oauth-worker-source.js";
import { ANSWERED_BY, type LoadBalancer, startLoadBalancer } from "./load-balancer.js";
import type { StorePlace } from "./oauth-stores.js";

const HOST = fileURLToPath(new URL("../fixtures/hosts/web-worker.mjs", import.meta.url));

/** States of the servers in a process, by `user/server`; servers that it never connected are missing. */
export type WorkerConnections = Readonly<Record<string, { state: string; opened: number }>>;

export interface WebWorker {
  readonly pid: number;
  readonly port: number;
  connections(): Promise<WorkerConnections>;
  /** Kills it. */
  kill(): Promise<void>;
  /** Closes it and resolves with the exit code. */
  close(): Promise<number | null>;
}

/** The response for a user. */
export interface WebAnswer {
  readonly status: number;
  /** The port of the process that responded; undefined if none did. */
  readonly by: number | undefined;
  readonly text?: string;
  readonly code?: string;
  readonly authUrl?: string;
}

export interface WebCluster extends AsyncDisposable {
  readonly balancer: LoadBalancer;
  readonly workers: readonly WebWorker[];
  /** Starts another process behind the balancer. */
  start(): Promise<WebWorker>;
  /** Sends a request of one user to the balancer. */
  call(user: string, tool: string): Promise<WebAnswer>;
  /** Opens a URL like a browser. */
  visit(url: URL): Promise<Pick<WebAnswer, "status" | "by">>;
}

export interface ClusterSettings {
  readonly store: StorePlace;
  readonly count: number;
  readonly options: Pick<ToolportOptions, "mcpServers" | "idleTimeoutMs">;
}

export interface ClusterSource extends Disposable {
  start(settings: ClusterSettings): Promise<WebCluster>;
}

/** Transpiles everything once, for any number of clusters. */
export async function prepareClusters(): Promise<ClusterSource> {
  const { folder, [Symbol.dispose]: dispose } = await transpileEverything();
  return { start: (settings) => startCluster(folder, settings), [Symbol.dispose]: dispose };
}

async function startCluster(folder: string, { store, count, options }: ClusterSettings): Promise<WebCluster> {
  const balancer = await startLoadBalancer();
  const workers: WebWorker[] = [];
  const children: ChildProcess[] = [];
  const settings = JSON.stringify({
    store,
    options: { ...options, callbackUrl: `${balancer.url}/callback` },
  });
  const start = async () => {
    const child = fork(HOST, [folder, settings], { execArgv: ["--no-warnings"] });
    children.push(child);
    return connectTo(child);
  };
  const join = (worker: WebWorker) => {
    workers.push(worker);
    balancer.ports.push(worker.port);
    return worker;
  };
  const ask = async (url: URL | string, method: string) => {
    const response = await fetch(url, { method, redirect: "manual" });
    const by = response.headers.get(ANSWERED_BY);
    return { response, status: response.status, by: by === null ? undefined : Number(by) };
  };
  const cluster: WebCluster = {
    balancer,
    workers,
    start: async () => join(await start()),
    async call(user, tool) {
      const query = new URLSearchParams({ user, tool });
      const { response, status, by } = await ask(`${balancer.url}/call?${query}`, "POST");
      return { status, by, ...(by !== undefined && ((await response.json()) as object)) };
    },
    async visit(url) {
      const { response, status, by } = await ask(url, "GET");
      await response.text();
      return { status, by };
    },
    async [Symbol.asyncDispose]() {
      for (const child of children) child.kill("SIGKILL");
      await balancer[Symbol.asyncDispose]();
    },
  };
  try {
    for (const worker of await Promise.all(Array.from({ length: count }, start))) join(worker);
  } catch (error) {
    await cluster[Symbol.asyncDispose]();
    throw error;
  }
  return cluster;
}

async function connectTo(child: ChildProcess): Promise<WebWorker> {
  const exited = once(child, "exit") as Promise<[number | null]>;
  const ended = exited.then(() => Promise.reject(new Error("The process has ended before it was ready")));
  const [{ port }] = (await Promise.race([once(child, "message"), ended])) as [{ port: number }];
  ended.catch(() => {});
  return {
    pid: child.pid as number,
    port,
    connections: async () =>
      (await (await fetch(`http://127.0.0.1:${port}/state`)).json()) as WorkerConnections,
    async kill() {
      child.kill("SIGKILL");
      await exited;
    },
    async close() {
      child.send("close");
      const [code] = await exited;
      return code;
    },
  };
}
