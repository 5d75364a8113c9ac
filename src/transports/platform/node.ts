/** What only Node (or a runtime like it) can do. Chosen over `web.ts` by the package's `#platform` conditions. */
import type { DockerConfig, StdioConfig, WebSocketConfig } from "../../config/server-config.js";
import type { HttpClient, ServerTransport, TransportContext } from "../server-transport.js";

const isBun = "bun" in process.versions;

export async function stdio(config: StdioConfig, context: TransportContext): Promise<ServerTransport> {
  const { createStdioTransport } = await import("../stdio/stdio-transport.js");
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
  return createNodeWebSocketTransport(config, context);
}

export async function httpClient(fetch?: typeof globalThis.fetch): Promise<HttpClient> {
  // Bun's own fetch is good, and its `node:http` is another one.
  const own = fetch ?? (isBun ? globalThis.fetch : undefined);
  if (own !== undefined) return (await import("../http/network/web-client.js")).createFetchClient(own);
  return (await import("../http/network/node-client.js")).createHttpClient();
}
