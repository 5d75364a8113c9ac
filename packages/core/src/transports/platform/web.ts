/** The counterpart of `node.ts` for Workers and browsers: no processes, the runtime's own `fetch` and `WebSocket`. */

import { ConnectionError } from "@toolport/base";
import type { HttpClient, HttpClientSettings } from "@toolport/http/wire-client";
import type { DockerConfig, StdioConfig, WebSocketConfig } from "../../config/server-config.js";
import type { ServerTransport, TransportContext } from "../server-transport.js";

function noProcesses(server: string): never {
  throw new ConnectionError({
    code: "TRANSPORT_NOT_SUPPORTED",
    server,
    what: "This runtime cannot start processes",
    next: "Connect to the server over HTTP, or run Toolport on Node",
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
  await rejectProxyAddress(context.proxy);
  const { createGlobalWebSocketTransport } = await import("../websocket/global-web-socket.js");
  return createGlobalWebSocketTransport(config, context);
}

/** The runtime handles proxies. */
export const systemFetch: typeof globalThis.fetch = (input, init) => globalThis.fetch(input, init);

export async function httpClient({ fetch, proxy }: HttpClientSettings = {}): Promise<HttpClient> {
  if (fetch === undefined) await rejectProxyAddress(proxy);
  const { createFetchClient } = await import("@toolport/http/wire-client");
  return createFetchClient(fetch ?? globalThis.fetch.bind(globalThis));
}

async function rejectProxyAddress(proxy: HttpClientSettings["proxy"]): Promise<void> {
  (await import("@toolport/http/proxy-option")).rejectProxyAddress(proxy);
}
