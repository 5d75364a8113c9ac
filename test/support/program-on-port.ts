/** A program that listens on a given port, for one test. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { connect, createServer } from "node:net";
import { dirname, join } from "node:path";
import { waitFor } from "./wait-for.js";

export interface ProgramOnPort extends AsyncDisposable {
  readonly port: number;
  readonly pid: number;
}

const require = createRequire(import.meta.url);

/** The program of a reference server, started with node directly, because `npx` is slower. */
export function programOf(server: "everything" | "filesystem" | "memory"): string {
  const manifest = require.resolve(`@modelcontextprotocol/server-${server}/package.json`);
  const { bin } = require(manifest) as { bin: Record<string, string> };
  return join(dirname(manifest), Object.values(bin)[0]!);
}

/** A free port of 127.0.0.1. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    const done = (up: boolean) => {
      socket.destroy();
      resolve(up);
    };
    socket.once("connect", () => done(true));
    socket.once("error", () => done(false));
  });
}

/** Starts `node <args>` with `PORT` set, and waits until it accepts connections. */
export async function startProgramOnPort(args: readonly string[]): Promise<ProgramOnPort> {
  const port = await freePort();
  const child = spawn(process.execPath, args, {
    env: { ...process.env, PORT: String(port) },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let words = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    words = (words + text).slice(-2_000);
  });
  const ended = once(child, "exit");
  const stop = async () => {
    child.kill("SIGKILL");
    await ended;
  };
  try {
    const label = () => `${args[0]} to listen on ${port} (${words.trim()})`;
    await waitFor(() => isListening(port), { label });
  } catch (error) {
    await stop();
    throw error;
  }
  return { port, pid: child.pid as number, [Symbol.asyncDispose]: stop };
}
