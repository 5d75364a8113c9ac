/**
 * Creates the SDK's client of one connection on demand.
 *
 * Toolport sends lists and calls itself. The client responds to requests of servers, implements subscriptions to modern
 * servers and is available to users. Loading it costs more than everything else in a connection, and most connections never
 * need it.
 */

import type { Client, ClientOptions, DiscoverResult } from "@modelcontextprotocol/client";
import type { ServerConfig } from "../config/server-config.js";
import {
  createSchemaValidator,
  createSdkValidator,
  type SchemaValidator,
} from "../schema/create-validator.js";
import { loadOnce } from "../util/concurrency.js";
import { type ClientIdentity, withoutTasks } from "./era.js";
import { type Handshake, legacyVersions } from "./handshake.js";
import type { RequestChannel } from "./request-channel.js";

interface LazyClientParts {
  readonly channel: RequestChannel;
  readonly config: ServerConfig;
  readonly identity: ClientIdentity;
  readonly handshake: Handshake;
  /** @default a new validator */
  readonly validator: SchemaValidator | undefined;
  /** Registers request handlers with the new client. */
  readonly prepare: (client: Client) => void;
}

export type LazyClient = ReturnType<typeof createLazyClient>;

/** The channel also creates the client when the server sends a request that only the client can answer. */
export function createLazyClient(parts: LazyClientParts) {
  const { channel } = parts;
  let joined: Client | undefined;
  const get = loadOnce(async () => {
    joined = await join(parts);
    return joined;
  });
  // Ignore failures: only the requests of the server need the client.
  channel.sdkTransport.onneeded = () => void get().catch(() => {});
  return {
    /** The connected client, shared by all callers. */
    get,
    /** Closes the client if it was created. */
    async close(): Promise<void> {
      channel.sdkTransport.onneeded = undefined;
      // Do not wait for a client that is still connecting: if it rejects the server's handshake result, that takes a minute.
      // Closing the channel ends it.
      await joined?.close();
    },
  };
}

async function join({ channel, handshake, prepare, ...options }: LazyClientParts): Promise<Client> {
  const client = await createClient(options);
  prepare(client);
  // The SDK also throws these errors, or they concern a single message. Without a handler it would log them.
  client.onerror = () => {};
  const { era, result } = handshake;
  const prior =
    era === "modern"
      ? { kind: era, discover: result as unknown as DiscoverResult }
      : ({ kind: era } as const);
  await channel.sdkTransport.join(result, () => client.connect(channel.sdkTransport, { prior }));
  return client;
}

async function createClient({
  config,
  identity,
  validator,
}: Pick<LazyClientParts, "config" | "identity" | "validator">): Promise<Client> {
  // Its `listChanged` handlers would replace those of Toolport, which would then miss changes.
  const { listChanged: _, ...given } = config.clientOptions?.reveal() ?? {};
  const [{ Client }, jsonSchemaValidator] = await Promise.all([
    // With the first client: its import takes longer than that of all of Toolport.
    import("@modelcontextprotocol/client"),
    // The SDK's default validator compiles code, and a hostile pattern can block it.
    given.jsonSchemaValidator ?? createSdkValidator(validator ?? createSchemaValidator()),
  ]);
  const options: ClientOptions = {
    ...given,
    // It does not support tasks.
    capabilities: withoutTasks(identity.capabilities),
    jsonSchemaValidator,
    supportedProtocolVersions: [...legacyVersions(config)],
  };
  return new Client(identity.clientInfo, options);
}
