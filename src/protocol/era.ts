/** The two eras of the protocol: modern (stateless, from 2026-07-28 on) and legacy (everything before). */

import type { Fields } from "../util/json.js";
import type { SessionHooks } from "./session-hooks.js";

export type Era = "legacy" | "modern";

/** Revisions without `initialize`, newest first. */
export const MODERN_VERSIONS = ["2026-07-28"] as const;

/** Revisions with an `initialize` handshake, newest first. */
export const LEGACY_VERSIONS = [
  "2025-11-25",
  "2025-06-18",
  "2025-03-26",
  "2024-11-05",
  "2024-10-07",
] as const;

/** Revisions are dates, so comparing the strings orders them. */
export const isModernVersion = (version: string): boolean =>
  version >= MODERN_VERSIONS[MODERN_VERSIONS.length - 1]!;

/** Keys in `_meta` that every request to a modern server carries. */
const ENVELOPE = {
  protocolVersion: "io.modelcontextprotocol/protocolVersion",
  clientInfo: "io.modelcontextprotocol/clientInfo",
  clientCapabilities: "io.modelcontextprotocol/clientCapabilities",
} as const;

/** Key in `_meta` under which a modern server identifies itself. */
export const SERVER_INFO_META_KEY = "io.modelcontextprotocol/serverInfo";

/** A server may respond to `tools/call` with a task if the request names this extension. */
export const TASKS_EXTENSION = "io.modelcontextprotocol/tasks";

export interface ClientIdentity {
  readonly clientInfo: { readonly name: string; readonly version: string };
  readonly capabilities: Readonly<Record<string, unknown>>;
}

/**
 * The `_meta` of every request on one connection. Tasks are advertised here and not in the handshake: the SDK's client, which
 * shares the connection, does not support them.
 */
export function createEnvelope(version: string, identity: ClientIdentity): Record<string, unknown> {
  const { clientInfo } = identity;
  const capabilities = withoutTasks(identity.capabilities);
  return {
    [ENVELOPE.protocolVersion]: version,
    [ENVELOPE.clientInfo]: clientInfo,
    [ENVELOPE.clientCapabilities]: {
      ...capabilities,
      extensions: { ...(capabilities["extensions"] as object | undefined), [TASKS_EXTENSION]: {} },
    },
  };
}

/** Tasks as a capability exist in this revision only. Later ones have {@link TASKS_EXTENSION}. */
export const TASKS_VERSION = "2025-11-25";

/** The capabilities for revisions other than {@link TASKS_VERSION}. */
export function withoutTasks(capabilities: Fields): Fields {
  const { tasks: _, ...others } = capabilities;
  return others;
}

/** The envelope with other capabilities. */
const withCapabilities = (envelope: Fields, capabilities: Fields): Record<string, unknown> => ({
  ...envelope,
  [ENVELOPE.clientCapabilities]: withoutTasks(capabilities),
});

/** The envelope of a request of another caller: version and client of the connection, but what the caller declares. */
export function envelopeFor(
  envelope: Fields,
  { capabilities, logLevel }: Pick<SessionHooks, "capabilities" | "logLevel">,
): Fields {
  const own = withCapabilities(envelope, capabilities);
  return logLevel === undefined ? own : { ...own, [LOG_LEVEL_META_KEY]: logLevel };
}

/** The envelope of a request that may be suspended: the user can answer forms and visit pages, even without a handler. */
export function withElicitation(envelope: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const capabilities = envelope[ENVELOPE.clientCapabilities] as Readonly<Record<string, unknown>> | undefined;
  const elicitation = { form: { applyDefaults: true }, url: {} };
  return withCapabilities(envelope, { ...capabilities, elicitation });
}

/**
 * Whether a result may be shared with other users. Without the field it is private.
 *
 * @param result a result of a modern server: earlier revisions do not have the field
 */
export const isPublic = (result: Readonly<Record<string, unknown>>): boolean =>
  result["cacheScope"] === "public";

/** Key in `_meta` of a request that sets the minimum level of log messages; modern servers only. */
export const LOG_LEVEL_META_KEY = "io.modelcontextprotocol/logLevel";
