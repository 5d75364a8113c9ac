/** A server in this process that a fuzzer controls: up, down, silent, or killed at any moment. */
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { createLinkedTransports } from "toolport";

export type WorldMode = "up" | "down" | "mute";
type Params = Record<string, unknown>;

/** Replaces the correct reply; undefined: no reply. */
export type Answerer = (
  request: { id: unknown; method: string; params: Params },
  world: MemoryWorld,
) => unknown;

const LEGACY = "2025-11-25";
const MODERN = "2026-07-28";
const serverInfo = { name: "world", version: "1.0.0" };
const tools = ["echo", "hang"].map((name) => ({ name, inputSchema: { type: "object" } }));

export class MemoryWorld {
  mode: WorldMode = "up";
  /** Number of connections so far. */
  opened = 0;
  /** Open connections. */
  readonly live = new Set<Transport>();
  readonly #era: "legacy" | "modern";
  readonly #answer: Answerer;

  constructor({ era, answer }: { era: "legacy" | "modern"; answer?: Answerer }) {
    this.#era = era;
    this.#answer = answer ?? ((request) => this.honest(request));
  }

  /** For the `transport` of a server entry. */
  readonly connect = async (): Promise<Transport> => {
    this.opened += 1;
    if (this.mode === "down") throw Object.assign(new Error("The server is down"), { code: "ECONNREFUSED" });
    const [client, server] = createLinkedTransports();
    this.live.add(server);
    server.onclose = () => this.live.delete(server);
    server.onmessage = (message) => this.#receive(server, message as never);
    await server.start();
    return client;
  };

  /** Closes every connection, like a crash. */
  kill(): void {
    for (const end of this.live) end.close().catch(() => {});
  }

  /** Sends a message on every connection. */
  say(message: unknown): void {
    for (const end of this.live) end.send(message as JSONRPCMessage).catch(() => {});
  }

  /** The correct reply to a request; undefined for `hang`, which never gets one. */
  honest({ id, method, params }: { id: unknown; method: string; params: Params }): unknown {
    const result = this.#result(method, params);
    if (result === "none") return undefined;
    if (result === undefined)
      return { jsonrpc: "2.0", id, error: { code: -32601, message: "Method not found" } };
    return { jsonrpc: "2.0", id, result };
  }

  #result(method: string, params: Params): unknown {
    const capabilities = { tools: { listChanged: true } };
    const complete = this.#era === "modern" ? { resultType: "complete" } : {};
    switch (method) {
      case "initialize":
        return this.#era === "legacy" ? { protocolVersion: LEGACY, capabilities, serverInfo } : undefined;
      case "server/discover":
        if (this.#era === "legacy") return undefined;
        return {
          ...complete,
          supportedVersions: [MODERN],
          capabilities,
          _meta: { "io.modelcontextprotocol/serverInfo": serverInfo },
        };
      case "tools/list":
        return { ...complete, tools };
      case "tools/call":
        if (params["name"] === "hang") return "none";
        return {
          ...complete,
          content: [{ type: "text", text: String((params["arguments"] as Params)?.["text"]) }],
        };
      case "ping":
        return {};
      default:
        return undefined;
    }
  }

  #receive(server: Transport, message: { id?: unknown; method?: string; params?: Params }): void {
    const { id, method, params = {} } = message;
    if (id === undefined || method === undefined || this.mode === "mute") return;
    const answer = this.#answer({ id, method, params }, this);
    if (answer !== undefined) server.send(answer as JSONRPCMessage).catch(() => {});
  }
}
