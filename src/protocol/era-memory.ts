/** Remembers the era of servers, so that the next connection skips the negotiation. */

import type { ServerConfig } from "../config/server-config.js";
import { configIdentity } from "../config/server-config.js";
import { serverKey } from "../state/server-keys.js";
import type { Store } from "../state/store.js";
import { isPublic } from "./era.js";

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

  /** @param options `storesPrivate: false`: private results are not stored, as for the users of a gateway without a store. */
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
