/** Connections to legacy servers for callers with capabilities of their own: such a server learns those of a client only once. */
import type { ClientCapabilities } from "@modelcontextprotocol/client";
import { getOrMake, ToolCallError } from "@toolport/base";
import { shareSecrets } from "../config/known-secrets.js";
import type { ServerConfig } from "../config/server-config.js";
import { startUpkeep } from "../connection/connection-pool.js";
import type { ConnectionParts } from "../connection/connection-state.js";
import { ServerConnection, type WaitOptions } from "../connection/server-connection.js";
import { type CallerState, CallsInFlight } from "../protocol/calls-in-flight.js";
import { type Era, withoutTasks } from "../protocol/era.js";
import type { RequestChannel } from "../protocol/request-channel.js";
import { createServerRequests, type ServerRequests } from "../protocol/server-requests/server-requests.js";
import type { SessionHooks } from "../protocol/session-hooks.js";

/** One connection for one server and one set of capabilities. */
interface Variant {
  readonly connection: ServerConnection;
  readonly requests: CallerRequests;
  /** The configuration of the ordinary connection when this one was created. */
  readonly source: ServerConfig;
}

/** Maximum number of sets of capabilities of one user for one server: each is a connection, or a process, of its own. */
const MAX_VARIANTS = 8;

export class Variants {
  /** By server, then by `capabilityKey`. */
  readonly #servers = new Map<string, Map<string, Variant>>();
  #parts: ConnectionParts | undefined;
  #stopUpkeep: (() => void) | undefined;

  /** @param createParts creates what the ordinary connections of the port have */
  constructor(
    private readonly createParts: () => ConnectionParts,
    private readonly idleTimeoutMs: number | undefined,
  ) {}

  /** @param ordinary the connection with the capabilities of the port */
  async connectionFor(
    ordinary: ServerConnection,
    hooks: SessionHooks,
    wait: WaitOptions & { patient?: boolean | undefined },
  ): Promise<ServerConnection> {
    const isClosed = ordinary.state.status === "closed" && ordinary.state.by !== "idleness";
    if (isClosed || (await this.#eraOf(ordinary, wait)) === "modern") return ordinary;
    return this.#variant(ordinary, hooks);
  }

  /** Notifies the servers of changed roots. A server that then asks for the new ones is answered by `answer`, once. */
  async rootsChanged(capabilityKey: string, answer: SessionHooks["answer"] | undefined): Promise<void> {
    const concerned = [...this.#servers.values()].flatMap((variants) => variants.get(capabilityKey) ?? []);
    const notify = ({ requests }: Variant) => {
      const { capabilities } = requests;
      return requests.rootsChanged(answer && { capabilities, capabilityKey, passesInput: false, answer });
    };
    await Promise.all(concerned.map(notify));
  }

  /** Closes the connections of a server that was removed. */
  async drop(server: string): Promise<void> {
    const variants = [...(this.#servers.get(server)?.values() ?? [])];
    this.#servers.delete(server);
    await Promise.all(variants.map(({ connection }) => connection.disconnect()));
  }

  async close(): Promise<void> {
    this.#stopUpkeep?.();
    await Promise.all([...this.#servers.keys()].map((server) => this.drop(server)));
  }

  /** Number of connections. */
  get size(): number {
    return this.created().length;
  }

  /** All connections. */
  created(): ServerConnection[] {
    return [...this.#servers.values()].flatMap((variants) =>
      [...variants.values()].map(({ connection }) => connection),
    );
  }

  /** Connects the server with the capabilities of the port only if its era is not known. */
  async #eraOf(connection: ServerConnection, wait: WaitOptions): Promise<Era> {
    if (connection.session !== undefined) return connection.session.era;
    if (this.#servers.has(connection.name)) return "legacy";
    const { protocol } = connection.config;
    const remembered = protocol === "auto" ? await this.#partsOf().eras.recall(connection.config) : undefined;
    return remembered?.era === "legacy" ? "legacy" : (await connection.acquire(wait)).era;
  }

  #variant(ordinary: ServerConnection, hooks: SessionHooks): ServerConnection {
    const { capabilities, capabilityKey } = hooks;
    const { name, config } = ordinary;
    const variants = getOrMake(this.#servers, name, () => new Map<string, Variant>());
    const known = variants.get(capabilityKey);
    // The Map keeps the order of use.
    variants.delete(capabilityKey);
    if (known !== undefined && known.source === config) {
      variants.set(capabilityKey, known);
      if (known.connection.session === undefined) known.requests.opensFor(hooks);
      return known.connection;
    }
    // The credentials have changed.
    void known?.connection.retire();
    if (variants.size >= MAX_VARIANTS) this.#makeSpace(name, variants);
    const requests = createCallerRequests(capabilities);
    requests.opensFor(hooks);
    const connection = new ServerConnection(plain(config), this.#partsFor(capabilities, requests));
    variants.set(capabilityKey, { connection, requests, source: config });
    return connection;
  }

  /** Closes the connection that was not in use for the longest time. */
  #makeSpace(server: string, variants: Map<string, Variant>): void {
    for (const [key, { connection }] of variants) {
      if (connection.usage.idleMs === 0) continue;
      variants.delete(key);
      void connection.retire();
      return;
    }
    throw new ToolCallError({
      code: "OVERLOADED",
      server,
      what: `Clients of this user with ${MAX_VARIANTS} other sets of capabilities are calling this server`,
      next: "Call again when one of those calls has ended",
      retryable: true,
      outcome: "unsent",
    });
  }

  #partsOf(): ConnectionParts {
    this.#parts ??= this.createParts();
    this.#stopUpkeep ??= startUpkeep(this, { healthCheckMs: undefined, idleTimeoutMs: this.idleTimeoutMs });
    return this.#parts;
  }

  #partsFor(capabilities: SessionHooks["capabilities"], serverRequests: CallerRequests): ConnectionParts {
    const parts = this.#partsOf();
    const { eras, identity } = parts;
    return {
      ...parts,
      // No caller answers requests about tasks here: those of a server would need the connection that asked.
      identity: { clientInfo: identity.clientInfo, capabilities: withoutTasks(capabilities) },
      serverRequests,
      eras: {
        recall: async (config) => {
          const remembered = await eras.recall(config);
          return remembered?.era === "legacy" ? remembered : { era: "legacy", at: Date.now() };
        },
        remember: async () => {},
        forget: async () => {},
      },
      // The lists and the state of the server are those of the ordinary connection.
      readLists: async () => {},
      onState() {},
      onNotification: (server, method, params) => {
        if (!method.endsWith("/list_changed")) parts.onNotification?.(server, method, params);
      },
    };
  }
}

/** Without the capabilities of `clientOptions`, which are not those of the client. */
const plain = (config: ServerConfig): ServerConfig => {
  if (config.clientOptions === undefined) return config;
  return shareSecrets(config, { ...config, clientOptions: undefined } as ServerConfig);
};

/** Server requests of the connections for one set of capabilities. */
interface CallerRequests extends ServerRequests {
  /** Call before a connection is opened for a request. */
  opensFor(hooks: SessionHooks): void;
  /** @param caller answers a question for the new roots. @default such questions are refused */
  rootsChanged(caller?: SessionHooks): Promise<void>;
}

const none = createServerRequests({ report() {} });

/** @param capabilities those that the callers declared */
function createCallerRequests(capabilities: SessionHooks["capabilities"]): CallerRequests {
  const shared: CallerState = { hasTurns: false };
  const open = new Set<RequestChannel>();
  return {
    ...none,
    capabilities: capabilities as ClientCapabilities,
    attach(channel, server) {
      shared.hasTurns ||= channel.sdkTransport.hasPerRequestStream !== true;
      const calls = new CallsInFlight(server, channel, shared);
      calls.answer();
      return {
        ...none.attach(channel, server),
        calls,
        opened() {
          open.add(channel);
          void channel.closed.then(() => open.delete(channel));
        },
      };
    },
    async rootsChanged(caller) {
      shared.changedRoots = caller;
      // Ignore failures: the channel handles a broken connection.
      const notify = (channel: RequestChannel) =>
        channel.notify("notifications/roots/list_changed").catch(() => {});
      await Promise.all([...open].map(notify));
    },
    opensFor(hooks) {
      shared.opener = hooks;
    },
  };
}
