/** What requires Node or a compatible runtime. `#platform` in package.json chooses between this file and `web.ts`. */

import type { ProxyOption } from "@toolport/http/proxy-option";
import type { HttpClient, HttpClientSettings } from "@toolport/http/wire-client";
import type { DockerConfig, StdioConfig, WebSocketConfig } from "../../config/server-config.js";
import type { ServerTransport, TransportContext } from "../server-transport.js";

const isBun = "bun" in process.versions;
/** Bun and Deno read the proxy variables themselves. */
const handlesProxies = isBun || "deno" in process.versions;

export async function stdio(config: StdioConfig, context: TransportContext): Promise<ServerTransport> {
  const { createStdioTransport } = await import("../stdio/process-transport.js");
  return createStdioTransport(config, context);
}

export async function docker(config: DockerConfig, context: TransportContext): Promise<ServerTransport> {
  const { createDockerTransport } = await import("../docker/docker-transport.js");
  return createDockerTransport(config, context);
}

export async function webSocket(
  config: WebSocketConfig,
  context: TransportContext,
): Promise<ServerTransport> {
  const { createNodeWebSocketTransport } = await import("../websocket/node-web-socket.js");
  const proxy = await remainingProxy(context.proxy);
  return createNodeWebSocketTransport(config, { ...context, proxy });
}

export async function httpClient(settings: HttpClientSettings = {}): Promise<HttpClient> {
  const { fetch, maxSockets } = settings;
  // Bun's own fetch works well, and its `node:http` differs from Node's.
  const proxy = fetch === undefined ? await remainingProxy(settings.proxy) : false;
  const own = fetch ?? (isBun ? globalThis.fetch : undefined);
  if (own !== undefined) return (await import("@toolport/http/wire-client")).createFetchClient(own);
  const { createHttpClient } = await import("@toolport/http/node-client");
  return createHttpClient({ proxy, ...(maxSockets !== undefined && { maxSockets }) });
}

/**
 * `fetch` for requests that belong to no server. If the environment names a proxy for the target, the request goes
 * through it, and redirects are not followed.
 */
export const systemFetch: typeof globalThis.fetch = async (input, init) => {
  const { mayNeedProxy } = await import("@toolport/http/proxy-option");
  if (handlesProxies || !mayNeedProxy("env")) return globalThis.fetch(input, init);
  const { createProxyRoutes } = await import("@toolport/http/proxy-routes");
  const url = new URL(input instanceof Request ? input.url : String(input));
  if (createProxyRoutes("env")(url) === undefined) return globalThis.fetch(input, init);
  const { createHttpClient } = await import("@toolport/http/node-client");
  // With `keepAliveMs: 0` no socket outlives the response, so the client needs no `close()`.
  return createHttpClient({ keepAliveMs: 0 }).fetch(input, init);
};

/** The proxy option that is left for Toolport to handle. */
async function remainingProxy(proxy: ProxyOption = "env"): Promise<ProxyOption> {
  if (!handlesProxies) return proxy;
  (await import("@toolport/http/proxy-option")).rejectProxyAddress(proxy);
  return false;
}
