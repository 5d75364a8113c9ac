/** Starts processes that use a file store, from the current sources. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath, pathToFileURL } from "node:url";
import { transpileEverything } from "../fixtures/oauth-worker-source.js";
import { useServer } from "./use-server.js";

const script = fileURLToPath(new URL("../fixtures/hosts/state-sqlite-host.mjs", import.meta.url));

/** A running host. */
export interface StateHost {
  readonly process: ChildProcess;
  /** All complete output lines so far. */
  lines(): string[];
  /** Resolves at its first line. */
  readonly begun: Promise<void>;
  /** Resolves at its exit with its last line as JSON; rejects if it failed. */
  result<T>(): Promise<T>;
  /** Kills it and waits for its exit. */
  kill(): Promise<void>;
}

/** Transpiles the sources before the tests; `start` runs one host, with `prefix` in front of its command line. */
export function useStateHosts() {
  const source = useServer(() => transpileEverything({ useBuild: false }));
  return {
    start: (args: readonly string[], prefix: readonly string[] = []): StateHost => {
      const folder = pathToFileURL(`${source.folder}/`).href;
      const [command, ...words] = [...prefix, process.execPath, script, folder, ...args];
      return watchHost(spawn(command!, words, { stdio: ["ignore", "pipe", "pipe"] }));
    },
  };
}

function watchHost(child: ChildProcess): StateHost {
  let output = "";
  let errors = "";
  const ended = once(child, "close") as Promise<[number | null]>;
  const begun = new Promise<void>((resolve) => {
    child.stdout!.setEncoding("utf8").on("data", (text: string) => {
      output += text;
      if (text.includes("\n")) resolve();
    });
    ended.then(() => resolve());
  });
  child.stderr!.setEncoding("utf8").on("data", (text: string) => {
    errors += text;
  });
  const lines = () => output.split("\n").slice(0, -1);
  return {
    process: child,
    lines,
    begun,
    async result() {
      const [code] = await ended;
      if (code !== 0) throw new Error(`The host ended with ${code ?? child.signalCode}: ${errors}`);
      return JSON.parse(lines().at(-1) ?? "null");
    },
    async kill() {
      child.kill("SIGKILL");
      await ended;
    },
  };
}
