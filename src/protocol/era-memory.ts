/** What is known about a server's era from earlier, so that the next start asks nothing. */
import type { Store } from "../state/store.js";

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

/** The store is a convenience here: when it fails, a server is simply asked again. */
export class EraMemory {
  readonly #store: Store;
  readonly #prefix: string;
  readonly #now: () => number;

  /** @param principal what a server says of itself may depend on who asks: every principal has its own memory */
  constructor(store: Store, principal = "", now: () => number = Date.now) {
    this.#store = store;
    this.#prefix = principal === "" ? "era/" : `era/${encodeURIComponent(principal)}/`;
    this.#now = now;
  }

  async recall(identity: string): Promise<RememberedEra | undefined> {
    const record = await attempt(() => this.#store.get(`${this.#prefix}${identity}`));
    const value = record?.value as RememberedEra | null | undefined;
    if (value?.era === "modern")
      return typeof value.discover === "object" && value.discover !== null ? value : undefined;
    if (value?.era !== "legacy") return undefined;
    const age = this.#now() - value.at;
    return age >= 0 && age < LEGACY_VERDICT_AGE_MS ? value : undefined;
  }

  async remember(identity: string, verdict: EraVerdict): Promise<void> {
    const value: RememberedEra = verdict.era === "modern" ? verdict : { ...verdict, at: this.#now() };
    await attempt(() => this.#store.put(`${this.#prefix}${identity}`, value));
  }

  async forget(identity: string): Promise<void> {
    await attempt(() => this.#store.delete(`${this.#prefix}${identity}`));
  }
}

/** Nothing if it fails, in whatever way a store of somebody else's fails. */
async function attempt<Result>(ask: () => Promise<Result>): Promise<Result | undefined> {
  try {
    return await ask();
  } catch {
    return undefined;
  }
}
