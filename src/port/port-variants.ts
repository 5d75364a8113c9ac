/** The connections for the clients of a gateway, loaded on first use: most programs are not gateways. */
import type { ServerConnection, WaitOptions } from "../connection/server-connection.js";
import type { Relay } from "../protocol/relay.js";
import type { PoolHost } from "./port-pool.js";
import type { Variants } from "./variants.js";

export class PortVariants {
  readonly #host: PoolHost;
  #loading: Promise<Variants> | undefined;

  constructor(host: PoolHost) {
    this.#host = host;
  }

  /**
   * The connection for a request of a client. Modern servers, and clients without capabilities, use the ordinary one.
   *
   * @param connection the ordinary connection
   */
  async connectionFor(
    connection: ServerConnection,
    relay: Relay,
    wait: WaitOptions & { patient?: boolean | undefined },
  ): Promise<ServerConnection> {
    const { current } = connection;
    if (relay.capabilityKey === "" || current.session?.era === "modern") return current;
    return (await this.load()).connectionFor(current, relay, wait);
  }

  load(): Promise<Variants> {
    this.#loading ??= import("./variants.js").then(
      ({ Variants }) => new Variants(this.#host),
      (error: unknown) => {
        this.#loading = undefined;
        throw error;
      },
    );
    return this.#loading;
  }

  /** Tells the servers that the roots of the clients with these capabilities have changed. @param answer asks such a client */
  async rootsChanged(capabilityKey: string, answer: Relay["answer"] | undefined): Promise<void> {
    await (await this.#loading)?.rootsChanged(capabilityKey, answer);
  }

  /** Closes the connections of a server that was removed. */
  async drop(server: string): Promise<void> {
    await (await this.#loading)?.drop(server);
  }

  async close(): Promise<void> {
    await (await this.#loading)?.close();
  }
}
