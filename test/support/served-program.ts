/** A running `toolport serve`, and requests to it. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import type { CliSandbox } from "./cli-sandbox.js";
import { waitFor } from "./wait-for.js";

export interface ServedProgram extends AsyncDisposable {
  readonly child: ChildProcess;
  /** The URL that the program printed. */
  readonly url: string;
  readonly stderr: () => string;
  readonly stdout: () => string;
  /** A connected client of the SDK. Closed with the program. */
  client(token?: string): Promise<Client>;
  /** Resolves with the exit code. */
  ended(): Promise<number | null>;
}

/** Starts `toolport serve --http …` and waits for its URL. */
export async function startServe(
  sandbox: CliSandbox,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<ServedProgram> {
  const child = spawn(process.execPath, [sandbox.main, "serve", ...args], {
    cwd: sandbox.project,
    env: { ...sandbox.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [stdout, stderr] = [collect(child.stdout), collect(child.stderr)];
  const exited = once(child, "exit") as Promise<[number | null]>;
  const url = await waitFor(
    () => {
      if (child.exitCode !== null) return "ended";
      return /^http:\/\/\S+(?=\n)/m.exec(stdout())?.[0];
    },
    { label: () => `the URL of the gateway; stderr: ${stderr()}` },
  );
  if (url === "ended") throw new Error(`toolport serve ended: ${stderr()}`);
  const clients: Client[] = [];
  return {
    child,
    url,
    stdout,
    stderr,
    async client(token) {
      const client = new Client({ name: "test-client", version: "1.0.0" });
      const headers = token === undefined ? undefined : { authorization: `Bearer ${token}` };
      clients.push(client);
      await client.connect(
        new StreamableHTTPClientTransport(new URL(url), headers && { requestInit: { headers } }),
      );
      return client;
    },
    ended: async () => (await exited)[0],
    async [Symbol.asyncDispose]() {
      await Promise.all(clients.map((client) => client.close().catch(() => {})));
      child.kill("SIGKILL");
      await exited;
    },
  };
}

function collect(stream: NodeJS.ReadableStream): () => string {
  let text = "";
  stream.on("data", (chunk) => {
    text += String(chunk);
  });
  return () => text;
}

const lean = fileURLToPath(new URL("../fixtures/servers/stdio-lean.mjs", import.meta.url));

/** Configures stdio servers with these flags in the user's own file. Returns the file where they note their process ids. */
export async function configureServers(
  sandbox: CliSandbox,
  servers: Readonly<Record<string, readonly string[]>>,
): Promise<string> {
  const pidFile = join(sandbox.home, "pids");
  const entries = Object.entries(servers).map(([name, args]) => [
    name,
    { command: process.execPath, args: [lean, `--pid-file=${pidFile}`, ...args] },
  ]);
  await sandbox.write("home/.config/toolport/toolport.json", { mcpServers: Object.fromEntries(entries) });
  return pidFile;
}

/** The process ids in the file of {@link configureServers}. */
export const notedPids = (file: string): number[] =>
  readFileSync(file, "utf8").trim().split("\n").map(Number);

/** The text of a result of a tool. */
export const textOf = (result: unknown): string =>
  (result as { content: { text: string }[] }).content.map(({ text }) => text).join("");
