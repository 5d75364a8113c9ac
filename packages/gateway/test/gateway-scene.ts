/** A gateway over HTTP with test servers behind it, and clients of both eras. */
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { Client, type ClientOptions, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { createToolport, type Toolport, type ToolportOptions } from "toolport";
import { createGateway, type Gateway, type GatewayOptions } from "toolport/serve";

export interface GatewayScene extends AsyncDisposable {
  readonly url: string;
  readonly toolport: Toolport;
  readonly gateway: Gateway;
  readonly server: Server;
  /** A connected client of the SDK. Closed with the scene. */
  client(era: "modern" | "legacy", options?: ClientOptions): Promise<Client>;
}

export const MODERN = { pin: "2026-07-28" } as const;

/**
 * Starts the gateway on a free port of the loopback interface.
 *
 * @param routes what serves the requests, such as a framework with a route to the gateway
 */
export async function openGateway(
  options: ToolportOptions,
  gatewayOptions: GatewayOptions = { auth: false },
  routes: (gateway: Gateway) => RequestListener = (gateway) => gateway.node,
): Promise<GatewayScene> {
  const toolport = createToolport(options);
  const gateway = createGateway(toolport, gatewayOptions);
  const server = createServer(routes(gateway));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}/mcp`;
  const clients: Client[] = [];
  return {
    url,
    toolport,
    gateway,
    server,
    async client(era, clientOptions = {}) {
      const client = new Client(
        { name: "test-client", version: "1.0.0" },
        { versionNegotiation: { mode: era === "modern" ? MODERN : "legacy" }, ...clientOptions },
      );
      clients.push(client);
      await client.connect(new StreamableHTTPClientTransport(new URL(url)));
      return client;
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(clients.map((client) => client.close()));
      await gateway.close({ drainMs: 1_000 });
      await toolport.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
