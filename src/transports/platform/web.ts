/** Workers and browsers: no processes, the runtime's own `fetch` and `WebSocket`. The counterpart of `node.ts`. */
import type { DockerConfig, StdioConfig, WebSocketConfig } from "../../config/server-config.js";
import { ConnectionError } from "../../errors/connection-error.js";
import type { HttpClient, ServerTransport, TransportContext } from "../server-transport.js";

function noProcesses(server: string): never {
  throw new ConnectionError({
    code: "TRANSPORT_NOT_SUPPORTED",
    server,
    what: "This runtime cannot start processes",
    next: "Reach the server over HTTP, or run Toolport on Node",
    outcome: "unsent",
  });
}

export async function stdio(config: StdioConfig, _context: TransportContext): Promise<ServerTransport> {
  return noProcesses(config.name);
}

export async function docker(config: DockerConfig, _context: TransportContext): Promise<ServerTransport> {
  return noProcesses(config.name);
}

export async function webSocket(
  config: WebSocketConfig,
  context: TransportContext,
): Promise<ServerTransport> {
  const { createGlobalWebSocketTransport } = await import("../websocket/global-web-socket.js");
  return createGlobalWebSocketTransport(config, context);
}

export async function httpClient(fetch?: typeof globalThis.fetch): Promise<HttpClient> {
  const { createFetchClient } = await import("../http/network/web-client.js");
  return createFetchClient(fetch ?? globalThis.fetch.bind(globalThis));
}
