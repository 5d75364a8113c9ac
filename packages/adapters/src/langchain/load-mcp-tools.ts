/** Loads the tools of a client that the program created and connected. */
import type { DynamicStructuredTool } from "@langchain/core/tools";
import type { JSONRPCMessage, RequestId, Transport } from "@modelcontextprotocol/client";
import { ConnectionError } from "@toolport/base";
import { createToolport } from "@toolport/core";
import type { LoadMcpToolsOptions } from "./client-config.js";
import { asClientError } from "./errors.js";
import { toLangChainTools } from "./to-tools.js";

/**
 * Loads the tools of a connected client: `Client` of `@modelcontextprotocol/client`, or of version 1 of the SDK. The
 * client stays yours: Toolport never closes it and does not reconnect it.
 *
 * @example
 * ```ts
 * const tools = await loadMcpTools("math", client, { prefixToolNameWithServerName: true });
 * ```
 * @throws MCPClientError if the tools cannot be listed, or if one of them cannot be offered and `throwOnLoadError` is not false
 */
export async function loadMcpTools(
  serverName: string,
  client: McpClientLike,
  options: LoadMcpToolsOptions = {},
): Promise<DynamicStructuredTool[]> {
  const {
    prefixToolNameWithServerName = false,
    additionalToolNamePrefix = "",
    throwOnLoadError = true,
    ...rest
  } = options;
  const toolport = createToolport({
    mcpServers: {
      [serverName]: {
        transport: () => new ClientTransport(client),
        protocol: "legacy",
        // The port cannot reconnect this client.
        reconnect: { enabled: false },
      },
    },
    prefix: prefixToolNameWithServerName,
    additionalToolNamePrefix,
    // The client manages its own connection, so calls are not rejected after failures.
    breaker: false,
    retry: false,
  });
  const { error } = await toolport.connectServer(serverName);
  if (error !== undefined)
    throw asClientError(error, serverName, `Failed to load tools from server "${serverName}"`);
  // As in the original, results are not limited.
  return toLangChainTools(toolport, { ...rest, compact: false, throwOnLoadError, forModel: false });
}

/** The part of the SDK's `Client` that is used; the same in versions 1 and 2. */
export interface McpClientLike {
  listTools(params?: never, options?: never): Promise<{ tools: readonly unknown[]; nextCursor?: unknown }>;
  callTool(params: never, ...rest: never[]): Promise<unknown>;
  readResource?(params: never, options?: never): Promise<unknown>;
}

type Params = Record<string, unknown>;
type Method = (...parameters: unknown[]) => Promise<unknown>;

/** The port enforces timeouts; the limit of the client would interfere. */
const NO_LIMIT_MS = 2_147_483_647;
const METHOD_NOT_FOUND = -32601;
const PROTOCOL_VERSION = "2025-11-25";

/**
 * Serves the requests of a port by calling methods of the client. The handshake is answered here, because the client is already connected.
 * Errors of the methods are thrown by `send`, so that the port receives the original error. Closing leaves the client open.
 */
class ClientTransport implements Transport {
  onmessage?: Transport["onmessage"];
  onerror?: Transport["onerror"];
  onclose?: Transport["onclose"];
  readonly #client: McpClientLike;
  readonly #running = new Map<RequestId, AbortController>();

  constructor(client: McpClientLike) {
    this.#client = client;
  }

  async start(): Promise<void> {}

  async close(): Promise<void> {
    for (const controller of this.#running.values()) controller.abort();
    this.onclose?.();
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (!("method" in message)) return;
    const { method } = message;
    const params = (message.params ?? {}) as Params;
    if (!("id" in message)) {
      if (method === "notifications/cancelled") this.#running.get(params["requestId"] as RequestId)?.abort();
      return;
    }
    const { id } = message;
    const controller = new AbortController();
    this.#running.set(id, controller);
    try {
      const result = await this.#answer(method, params, controller.signal);
      const error = { code: METHOD_NOT_FOUND, message: `${method} is not available here` };
      this.#deliver({ id, ...(result === undefined ? { error } : { result }) });
    } finally {
      this.#running.delete(id);
    }
  }

  async #answer(method: string, params: Params, signal: AbortSignal): Promise<unknown> {
    const { _meta: meta, ...rest } = params as { _meta?: Params };
    const { progressToken, ...ownMeta } = meta ?? {};
    const sent = Object.keys(ownMeta).length === 0 ? rest : { ...rest, _meta: ownMeta };
    const options = { signal, timeout: NO_LIMIT_MS, maxTotalTimeout: NO_LIMIT_MS };
    switch (method) {
      case "initialize": {
        const { getServerVersion } = this.#client as { getServerVersion?: () => unknown };
        return {
          protocolVersion: params["protocolVersion"] ?? PROTOCOL_VERSION,
          // Only tools: the port must not list anything else. Resources can be read anyway.
          capabilities: { tools: {} },
          serverInfo: getServerVersion?.call(this.#client) ?? { name: "server", version: "0" },
        };
      }
      case "ping":
        return {};
      case "tools/list":
        return this.#call("listTools", sent, options);
      case "tools/call": {
        const onprogress = (progress: object) =>
          this.#deliver({ method: "notifications/progress", params: { ...progress, progressToken } });
        const withProgress = progressToken === undefined ? options : { ...options, onprogress };
        // In version 1 the second parameter is the result schema.
        return "getProtocolEra" in this.#client
          ? this.#call("callTool", sent, withProgress)
          : this.#call("callTool", sent, undefined, withProgress);
      }
      case "resources/read":
        return this.#client.readResource === undefined
          ? undefined
          : this.#call("readResource", sent, options);
      default:
        return undefined;
    }
  }

  async #call(name: keyof McpClientLike, ...parameters: unknown[]): Promise<unknown> {
    // Some versions of the SDK answer with an empty list instead.
    if ("transport" in this.#client && this.#client.transport === undefined)
      throw new ConnectionError({
        code: "CLOSED",
        what: "The client is not connected",
        next: "Connect it, then load its tools again",
        outcome: "unsent",
      });
    const method = this.#client[name] as unknown as Method;
    return method.apply(this.#client, parameters);
  }

  #deliver(message: object): void {
    this.onmessage?.({ jsonrpc: "2.0", ...message } as JSONRPCMessage);
  }
}
