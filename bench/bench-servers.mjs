/** Starts the benchmark's servers, or returns how a contender starts them. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const SERVER = fileURLToPath(new URL("./server.cjs", import.meta.url));

/** The servers of one worker, all of one kind. */
export class BenchServers {
  #env;
  #transport;
  #child;

  constructor({ transport, tools = 10, page = 0, outputEvery = 5 }, era = "legacy") {
    this.#transport = transport;
    this.#env = {
      ERA: era,
      TOOLS: String(tools),
      PAGE: String(page),
      OUT_EVERY: String(outputEvery),
      HTTP_MODE: transport === "http-sse" ? "sse" : "json",
      SESSION: transport === "http-session" ? "1" : "0",
    };
  }

  /** Entries for a contender. HTTP servers are one process with several ports, started before the measurement. */
  async list(count = 1) {
    if (this.#transport === "stdio") {
      const entry = { command: process.execPath, args: [SERVER], env: this.#env };
      return Array.from({ length: count }, (_, i) => ({ name: `s${i}`, ...entry }));
    }
    const ports = await this.#startHttp(count, 0);
    return ports.map((port, i) => ({ name: `s${i}`, url: `http://127.0.0.1:${port}/mcp` }));
  }

  /** Kills the server with this id and restarts an HTTP server on the same port. */
  async killAndRestart(pid, { url }) {
    const gone = this.#child === undefined ? undefined : once(this.#child, "exit");
    process.kill(pid, "SIGKILL");
    await gone;
    if (url !== undefined) await this.#startHttp(1, Number(new URL(url).port));
  }

  async #startHttp(count, port) {
    const env = { ...process.env, ...this.#env, PORTS: String(count) };
    const stdio = ["pipe", "pipe", "inherit"];
    this.#child = spawn(process.execPath, [SERVER, "--http", String(port)], { env, stdio });
    const failed = once(this.#child, "exit").then(() => Promise.reject(new Error("the server ended early")));
    // Avoid an unhandled rejection: the server exits with this process, after the race is over.
    failed.catch(() => {});
    const [line] = await Promise.race([once(this.#child.stdout, "data"), failed]);
    return JSON.parse(line.toString()).ports;
  }
}
