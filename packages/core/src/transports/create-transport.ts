/** Creates the transport for each kind of server. */
import * as platform from "#platform";
import type { ServerConfig } from "../config/server-config.js";
import type { ServerTransport, TransportContext } from "./server-transport.js";

/** Creates the transport of one connection. Each kind is loaded when it is first used. */
export async function createTransport(
  config: ServerConfig,
  context: TransportContext,
): Promise<ServerTransport> {
  switch (config.kind) {
    case "stdio":
      return platform.stdio(config, context);
    case "docker":
      return platform.docker(config, context);
    case "websocket":
      return platform.webSocket(config, context);
    case "http":
      return (await import("./http/http-transport.js")).createHttpTransport(config, context);
    case "sse":
      return (await import("./http/sse/sse-transport.js")).createSseTransport(config, context);
    case "custom":
      return (await import("./custom/custom-transport.js")).wrapCustomTransport(config);
  }
}

export { httpClient as createHttpClient, systemFetch } from "#platform";
