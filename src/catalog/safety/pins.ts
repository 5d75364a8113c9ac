/** Definitions are remembered by hash at first sight; a change is told, or the tool withheld until it is approved. */
import type { Store } from "../../state/store.js";
import type { SourceTool } from "../source-tool.js";
import { definitionHash } from "./definition-hash.js";

/** What happens to a tool whose definition changed: nothing, a warning, or it is withheld. */
export type PinMode = "off" | "warn" | "block";

/** A definition that is not the one first seen. */
export interface ChangedTool {
  readonly server: string;
  readonly tool: string;
  readonly pinned: string;
  readonly current: string;
}

type Hashes = Record<string, string>;

/** Why a tool is withheld whose definition is no longer the pinned one. */
export const CHANGED = "Its definition changed since it was pinned";

export class Pins {
  readonly mode: PinMode;
  readonly #store: Store;
  readonly #principal: string;
  /** Hashes as listed last, for `approve`. */
  readonly #current = new Map<string, Hashes>();

  constructor(mode: PinMode, store: Store, principal = "") {
    this.mode = mode;
    this.#store = store;
    this.#principal = principal;
  }

  /** Compares a list with what was pinned, pins what is new, and returns what changed. */
  async check(server: string, tools: readonly SourceTool[]): Promise<ChangedTool[]> {
    if (this.mode === "off") return [];
    const hashes = await Promise.all(
      tools.map(async (tool) => [tool.sourceName, await definitionHash(tool.raw)] as const),
    );
    this.#current.set(server, Object.fromEntries(hashes));
    const pinned = await this.#update(server, (known) => {
      const unknown = hashes.filter(([name]) => !Object.hasOwn(known, name));
      return unknown.length === 0 ? undefined : { ...known, ...Object.fromEntries(unknown) };
    });
    return hashes
      .filter(([name, hash]) => pinned[name] !== hash)
      .map(([tool, current]) => ({ server, tool, pinned: pinned[tool] ?? "", current }));
  }

  /** Accepts the definitions as they are now: of the named tools, or of all. */
  async approve(server: string, tools?: readonly string[]): Promise<void> {
    const current = this.#current.get(server) ?? {};
    const accepted = Object.entries(current).filter(([name]) => tools === undefined || tools.includes(name));
    await this.#update(server, (known) => ({ ...known, ...Object.fromEntries(accepted) }));
  }

  /** Compare-and-set: other processes may pin at the same time, and what they pinned first holds. */
  async #update(server: string, change: (known: Hashes) => Hashes | undefined): Promise<Hashes> {
    const key = `pins/${encodeURIComponent(this.#principal)}/${encodeURIComponent(server)}`;
    for (;;) {
      const record = await this.#store.get(key);
      const known = (record?.value as Hashes | undefined) ?? {};
      const next = change(known);
      if (next === undefined) return known;
      if ((await this.#store.put(key, next, { ifVersion: record?.version ?? 0 })) !== undefined) return next;
    }
  }
}
