/** The two eras of the protocol: modern (stateless, from 2026-07-28 on) and legacy (everything before). */

import type { Fields } from "@toolport/base";
import type { Store } from "@toolport/stores";
import { configIdentity, type ServerConfig } from "../config/server-config.js";
import { serverKey } from "../config/server-keys.js";
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

/** Newest first. */
export const versionsOf = (era: Era): readonly string[] =>
  era === "modern" ? MODERN_VERSIONS : LEGACY_VERSIONS;

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

/** Where a server configured for Streamable HTTP offers HTTP+SSE: at the same URL, or at `/sse` beside `/mcp`. */
export type SsePath = "sse" | "sibling-sse";

/** The stored result of a negotiation. */
export type RememberedEra =
  | { readonly era: "modern"; readonly discover: Record<string, unknown> }
  | {
      readonly era: "legacy";
      readonly at: number;
      /** Undefined: reached as configured. */
      readonly via?: SsePath | undefined;
      /** A session that is still open at the server. Never stored. */
      readonly resume?: ResumableSession | undefined;
    };

/** What is needed to go on with a session of a legacy server over HTTP. */
export interface ResumableSession {
  readonly sessionId: string | undefined;
  /** The result of `initialize`. */
  readonly result: Readonly<Record<string, unknown>>;
}

/** The result of a negotiation. */
export type EraVerdict =
  | { readonly era: "modern"; readonly discover: Record<string, unknown> }
  | { readonly era: "legacy"; readonly via?: SsePath | undefined };

/** An upgraded server still accepts `initialize`. Without an expiry Toolport would never notice the upgrade. */
const LEGACY_VERDICT_AGE_MS = 7 * 24 * 60 * 60 * 1_000;

/**
 * The era of a server is shared by all users and stored under its `configIdentity`. The result of `server/discover` is stored
 * with it only if the server marks it as public; otherwise it is stored for the user who requested it.
 *
 * Failures of the store are ignored: the next connection negotiates again.
 */
export class EraMemory {
  readonly #store: Store;
  readonly #principal: string | undefined;
  readonly #now: () => number;
  readonly #storesPrivate: boolean;

  /** @param options `storesPrivate: false`: private results are not stored, as for users without a configured store. */
  constructor(
    store: Store,
    principal?: string,
    { now = Date.now, storesPrivate = true }: { now?: () => number; storesPrivate?: boolean } = {},
  ) {
    this.#store = store;
    this.#principal = principal;
    this.#now = now;
    this.#storesPrivate = storesPrivate;
  }

  async recall(config: ServerConfig): Promise<RememberedEra | undefined> {
    const [shared, own] = await Promise.all([
      attempt(() => this.#store.get(eraKey(config))),
      attempt(() => this.#store.get(discoverKey(this.#principal, config))),
    ]);
    const value = shared?.value as (Partial<RememberedEra> & { discover?: unknown }) | null | undefined;
    if (value?.era === "modern") {
      const discover = value.discover ?? own?.value;
      return isResult(discover) ? { era: "modern", discover } : undefined;
    }
    if (value?.era !== "legacy") return undefined;
    const age = this.#now() - (value.at ?? Number.NaN);
    return age >= 0 && age < LEGACY_VERDICT_AGE_MS ? (value as RememberedEra) : undefined;
  }

  async remember(config: ServerConfig, verdict: EraVerdict): Promise<void> {
    const { era } = verdict;
    if (era === "legacy") return this.#put(eraKey(config), { ...verdict, at: this.#now() });
    const { discover } = verdict;
    if (isPublic(discover)) return this.#put(eraKey(config), { era, discover });
    await this.#put(eraKey(config), { era });
    if (this.#storesPrivate) await this.#put(discoverKey(this.#principal, config), discover);
  }

  async forget(config: ServerConfig): Promise<void> {
    await attempt(() => this.#store.delete(eraKey(config)));
    await attempt(() => this.#store.delete(discoverKey(this.#principal, config)));
  }

  async #put(key: string, value: unknown): Promise<void> {
    await attempt(() => this.#store.put(key, value));
  }
}

export const eraKey = (config: ServerConfig): string => `era/${configIdentity(config)}`;

/** The private result of `server/discover` for one user. */
const discoverKey = (principal: string | undefined, config: ServerConfig): string =>
  serverKey("discover", principal, config);

const isResult = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null;

/** Undefined if the store fails. */
async function attempt<Result>(access: () => Promise<Result>): Promise<Result | undefined> {
  try {
    return await access();
  } catch {
    return undefined;
  }
}
