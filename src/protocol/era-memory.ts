/** What is known about a server's era from earlier, so that the next start asks nothing. */
import { configIdentity } from "../config/config-identity.js";
import type { ServerConfig } from "../config/server-config.js";
import { serverKey } from "../state/server-keys.js";
import type { Store } from "../state/store.js";
import { isPublic } from "./era.js";

/** Where HTTP+SSE is spoken although Streamable HTTP is configured: at the same URL, or at `/sse` beside `/mcp`. */
export type SsePath = "sse" | "sibling-sse";

/** A verdict worth keeping. */
export type RememberedEra =
  | { readonly era: "modern"; readonly discover: Record<string, unknown> }
  | {
      readonly era: "legacy";
      readonly at: number;
      /** Absent: it was reached as configured. */
      readonly via?: SsePath | undefined;
    };

/** A verdict as it is found. */
export type EraVerdict =
  | { readonly era: "modern"; readonly discover: Record<string, unknown> }
  | { readonly era: "legacy"; readonly via?: SsePath | undefined };

/** An upgraded server still answers `initialize`, so a legacy verdict would hold for ever if it did not age. */
const LEGACY_VERDICT_AGE_MS = 7 * 24 * 60 * 60 * 1_000;

/**
 * Which era a server speaks is the same for all its users, and kept by its `configIdentity`. What it said of itself in
 * `server/discover` is kept with that only if the server calls it public; otherwise it belongs to the user who asked.
 *
 * The store is a convenience here: when it fails, a server is simply asked again.
 */
export class EraMemory {
  readonly #store: Store;
  readonly #principal: string | undefined;
  readonly #now: () => number;

  constructor(store: Store, principal?: string, now: () => number = Date.now) {
    this.#store = store;
    this.#principal = principal;
    this.#now = now;
  }

  async recall(config: ServerConfig): Promise<RememberedEra | undefined> {
    const [shared, own] = await Promise.all([
      attempt(() => this.#store.get(eraKey(config))),
      attempt(() => this.#store.get(discoverKey(this.#principal, config))),
    ]);
    const value = shared?.value as (Partial<RememberedEra> & { discover?: unknown }) | null | undefined;
    if (value?.era === "modern") {
      // Version 0.1 kept answers here that are not public.
      const isShared = isAnswer(value.discover) && isPublic(value.discover);
      const discover = isShared ? value.discover : own?.value;
      return isAnswer(discover) ? { era: "modern", discover } : undefined;
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
    await this.#put(discoverKey(this.#principal, config), discover);
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

/** What a server said of itself to one user. */
const discoverKey = (principal: string | undefined, config: ServerConfig): string =>
  serverKey("discover", principal, config);

const isAnswer = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null;

/** Nothing if it fails, in whatever way a store of somebody else's fails. */
async function attempt<Result>(ask: () => Promise<Result>): Promise<Result | undefined> {
  try {
    return await ask();
  } catch {
    return undefined;
  }
}
