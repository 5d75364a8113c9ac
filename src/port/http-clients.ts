/** The HTTP clients of one port: one for each combination of network options, created on first use. */
import type { NetworkConfig } from "../config/read-network.js";
import type { ServerConfig } from "../config/server-config.js";
import type { HttpClient } from "../transports/server-transport.js";
import type { SharedParts } from "./shared-parts.js";

export class HttpClients {
  readonly #parts: Pick<SharedParts, "networkOf" | "createHttp">;
  #clients: Map<string, Promise<HttpClient>> | undefined;

  constructor(parts: Pick<SharedParts, "networkOf" | "createHttp">) {
    this.#parts = parts;
  }

  /** The client for a server. */
  for(config: ServerConfig | NetworkConfig): Promise<HttpClient> {
    const network = this.#parts.networkOf(config);
    const key = JSON.stringify([network.proxy, network.maxSockets]);
    this.#clients ??= new Map();
    let client = this.#clients.get(key);
    if (client === undefined) {
      client = this.#parts.createHttp(network);
      this.#clients.set(key, client);
    }
    return client;
  }

  /** Closes all clients. Later requests get new ones. */
  async close(): Promise<void> {
    const clients = [...(this.#clients?.values() ?? [])];
    this.#clients = undefined;
    await Promise.all(clients.map(async (client) => (await client).close()));
  }
}
