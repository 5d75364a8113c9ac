/** Workers of test/fixtures/workers, bundled as wrangler bundles them and run by the real workerd. */
import { cp, mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root } from "../tree/source-files.js";
import { installPacked } from "./packed-package.js";

/** The used parts of the tools that scripts/fetch-tool.mjs fetches. */
interface Esbuild {
  build(options: object): Promise<{ warnings: { text: string }[]; outputFiles: { text: string }[] }>;
}
interface WebSocketClient {
  accept(): void;
  send(text: string): void;
  close(): void;
  addEventListener(type: "message", listener: (event: { data: string }) => void): void;
}
export interface Miniflare {
  readonly ready: Promise<URL>;
  dispatchFetch(
    url: string,
    init?: object,
  ): Promise<Response & { readonly webSocket: WebSocketClient | null }>;
  unsafeEvictDurableObject(
    script: string,
    className: string,
    options: { name: string; webSockets?: "hibernate" },
  ): Promise<void>;
  dispose(): Promise<void>;
}

const tools = () =>
  import("../../scripts/fetch-tool.mjs" as string) as Promise<{
    fetchEsbuild(): Promise<Esbuild>;
    fetchMiniflare(): Promise<{ Miniflare: new (options: object) => Miniflare }>;
  }>;

/** Starts workerd. The caller disposes of it. */
export async function openMiniflare(options: object): Promise<Miniflare> {
  const { Miniflare } = await (await tools()).fetchMiniflare();
  const miniflare = new Miniflare({ compatibilityDate: "2026-07-01", ...options });
  await miniflare.ready;
  return miniflare;
}

export interface WorkerProject extends AsyncDisposable {
  readonly folder: string;
  /** The Worker as one module, and the warnings of the bundler. */
  bundle(entry?: string): Promise<{ text: string; warnings: string[] }>;
}

/** A user's project: the Worker, the packed Toolport, and other packages. */
export async function createWorkerProject(others: readonly string[]): Promise<WorkerProject> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "toolport-worker-")));
  await cp(join(root, "test/fixtures/workers"), folder, { recursive: true });
  await installPacked(folder, others);
  return {
    folder,
    async bundle(entry = "agents-worker.ts") {
      const { build } = await (await tools()).fetchEsbuild();
      // As wrangler: https://github.com/cloudflare/workers-sdk/blob/main/packages/wrangler/src/deployment-bundle/bundle.ts
      const { warnings, outputFiles } = await build({
        absWorkingDir: folder,
        entryPoints: [entry],
        bundle: true,
        write: false,
        format: "esm",
        target: "es2024",
        keepNames: true,
        conditions: ["workerd", "worker", "browser"],
        external: ["cloudflare:*", "node:*"],
        logLevel: "silent",
      });
      return { text: outputFiles[0]?.text ?? "", warnings: warnings.map(({ text }) => text) };
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}

export interface RunningWorker extends AsyncDisposable {
  /** Calls a method of an agent through the Worker's binding. */
  rpc(name: string, method: string, ...args: unknown[]): Promise<never>;
  mixed(name: string, method: string, ...args: unknown[]): Promise<never>;
  fetch: Miniflare["dispatchFetch"];
  /** Evicts an idle agent from memory, as the platform does. Its WebSockets stay open. */
  evict(name: string, className?: "MyAgent" | "Mixed"): Promise<void>;
  /** Restarts the process with the same storage. */
  restart(bindings?: Readonly<Record<string, string>>): Promise<void>;
  /** Console output of the Worker. */
  readonly logged: string[];
}

export interface RunOptions {
  readonly script: string;
  /** Folder of the objects' storage. */
  readonly folder: string;
  readonly flags?: readonly string[];
  readonly bindings?: Readonly<Record<string, string>>;
}

export async function runWorker({
  script,
  folder,
  flags = [],
  bindings = {},
}: RunOptions): Promise<RunningWorker> {
  const logged: string[] = [];
  const open = (values: Readonly<Record<string, string>>) =>
    openMiniflare({
      name: "worker",
      modules: [{ type: "ESModule", path: "worker.js", contents: script }],
      compatibilityFlags: flags,
      durableObjects: {
        MyAgent: { className: "MyAgent", useSQLite: true },
        Mixed: { className: "Mixed", useSQLite: true },
      },
      durableObjectsPersist: folder,
      bindings: values,
      handleStructuredLogs: ({ message }: { message: string }) => void logged.push(message),
    });
  let miniflare = await open(bindings);

  const call = async (kind: string, name: string, method: string, args: unknown[]): Promise<never> => {
    const body = JSON.stringify({ kind, name, method, args });
    const response = await miniflare.dispatchFetch("http://localhost/rpc", { method: "POST", body });
    const text = await response.text();
    const { result, error } = response.ok ? JSON.parse(text) : { error: text };
    if (error !== undefined) throw new Error(error);
    return result as never;
  };
  return {
    logged,
    rpc: (name, method, ...args) => call("MyAgent", name, method, args),
    mixed: (name, method, ...args) => call("Mixed", name, method, args),
    fetch: (...args) => miniflare.dispatchFetch(...args),
    async evict(name, className = "MyAgent") {
      await call(className, name, "rest", []);
      await miniflare.unsafeEvictDurableObject("worker", className, { name, webSockets: "hibernate" });
    },
    async restart(values = bindings) {
      await miniflare.dispose();
      miniflare = await open(values);
    },
    [Symbol.asyncDispose]: () => miniflare.dispose(),
  };
}
