/**
 * The SDK's client of one connection, made when somebody needs it.
 *
 * Lists and calls go over the lane. The client answers what servers ask, keeps subscriptions of the modern era and serves
 * whoever wants to use it directly; loading it costs more than everything else in a connection, and most never need it.
 */

import type * as Sdk from "@modelcontextprotocol/client";
import type { Client, ClientOptions, DiscoverResult } from "@modelcontextprotocol/client";
import type { ServerConfig } from "../config/server-config.js";
import { createSchemaValidator, type SchemaValidator } from "../schema/create-validator.js";
import { createSdkValidator } from "../schema/sdk-validator.js";
import type { ClientIdentity } from "./era.js";
import { type Handshake, legacyVersions } from "./handshake.js";
import type { Lane } from "./request-channel.js";

export interface LateClientParts {
  readonly lane: Lane;
  readonly config: ServerConfig;
  readonly identity: ClientIdentity;
  readonly handshake: Handshake;
  /** @default one of its own */
  readonly validator: SchemaValidator | undefined;
  /** Registers what the client is to answer. */
  readonly prepare: (client: Client) => void;
}

export interface LateClient {
  /** The client, connected; the same for everyone who asks. */
  get(): Promise<Client>;
  /** Closes it, if it was ever made. */
  close(): Promise<void>;
}

/** From here on the lane can call for the client by itself. */
export function createLateClient(parts: LateClientParts): LateClient {
  const { lane } = parts;
  let joining: Promise<Client> | undefined;
  let joined: Client | undefined;
  function get(): Promise<Client> {
    joining ??= join(parts).then(
      (client) => {
        joined = client;
        return client;
      },
      (error: unknown) => {
        // Out of file descriptors, say: whoever needs it next tries again.
        joining = undefined;
        throw error;
      },
    );
    return joining;
  }
  // If it cannot be had, the server waits for its answer; every call of ours goes on without it.
  lane.clientSide.onneeded = () => void get().catch(() => {});
  return {
    get,
    async close() {
      lane.clientSide.onneeded = undefined;
      // One that is still on its way in is not waited for: a server's handshake may be good enough for us and not for it,
      // and then it waits for a minute. It ends with the lane.
      await joined?.close();
    },
  };
}

async function join({ lane, handshake, prepare, ...options }: LateClientParts): Promise<Client> {
  const client = await createClient(options);
  prepare(client);
  // What the SDK reports here it also throws, or it concerns a single message; neither may end up on the console.
  client.onerror = () => {};
  const { era, answer } = handshake;
  const prior =
    era === "modern"
      ? { kind: era, discover: answer as unknown as DiscoverResult }
      : ({ kind: era } as const);
  await lane.clientSide.join(answer, () => client.connect(lane.clientSide, { prior }));
  return client;
}

async function createClient({
  config,
  identity,
  validator,
}: Pick<LateClientParts, "config" | "identity" | "validator">): Promise<Client> {
  // Its handlers of changed lists would take the place of ours, and the port would never hear of a change.
  const { listChanged: _, ...given } = config.clientOptions?.reveal() ?? {};
  const [{ Client }, jsonSchemaValidator] = await Promise.all([
    loadSdk(),
    // The SDK's own validator compiles code and can be frozen by a hostile pattern.
    given.jsonSchemaValidator ?? createSdkValidator(validator ?? createSchemaValidator()),
  ]);
  const options: ClientOptions = {
    ...given,
    capabilities: identity.capabilities,
    jsonSchemaValidator,
    supportedProtocolVersions: [...legacyVersions(config)],
  };
  return new Client(identity.clientInfo, options);
}

let loading: Promise<typeof Sdk> | undefined;

/** The SDK's module. */
export function loadSdk(): Promise<typeof Sdk> {
  loading ??= import("@modelcontextprotocol/client").catch((error: unknown) => {
    // Out of file descriptors, say: the next connection tries again.
    loading = undefined;
    throw error;
  });
  return loading;
}
