/** Definitions are pinned by hash when they are first listed; every later list is compared with the pins. */
import { StateError } from "../../errors/state-error.js";
import { userPrefix } from "../../state/server-keys.js";
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

/** A tool whose definition could not be compared with its pin, and why. */
export interface UncheckedTool {
  readonly tool: string;
  readonly error: unknown;
}

/** What came of comparing a list with its pins. A tool in neither list is the one that was pinned. */
export interface PinCheck {
  readonly changed: readonly ChangedTool[];
  readonly unchecked: readonly UncheckedTool[];
  /** The store failed. Another check may succeed. */
  readonly isIncomplete: boolean;
}

type Hashes = Readonly<Record<string, string>>;

const ALL_FINE: PinCheck = { changed: [], unchecked: [], isIncomplete: false };

export interface PinParts {
  readonly store: Store;
  readonly principal: string | undefined;
  /** What `serverIdentity` says of a server; undefined: no entry has this name. */
  readonly identityOf: (server: string) => string | undefined;
}

export class Pins {
  readonly mode: PinMode;
  readonly #parts: PinParts;
  /** Hashes as listed last, for `approve`. */
  readonly #current = new Map<string, Hashes>();

  constructor(mode: PinMode, parts: PinParts) {
    this.mode = mode;
    this.#parts = parts;
  }

  /** Compares a list with what was pinned, and pins what is new. Never throws. */
  async check(server: string, tools: readonly SourceTool[]): Promise<PinCheck> {
    if (this.mode === "off") return ALL_FINE;
    const hashed = await Promise.all(
      tools.map(async ({ sourceName: tool, raw }) => {
        try {
          return { tool, hash: await definitionHash(raw) };
        } catch (error) {
          // For example a number that JSON.parse reads as Infinity. One such tool must not hide changes of the others.
          return { tool, error };
        }
      }),
    );
    const hashes = hashed.flatMap(({ tool, hash }) => (hash === undefined ? [] : [[tool, hash] as const]));
    const unchecked: UncheckedTool[] = hashed.flatMap(({ tool, hash, error }) =>
      hash === undefined ? [{ tool, error }] : [],
    );
    this.#current.set(server, Object.fromEntries(hashes));
    let known: Hashes = {};
    let failure: { error: unknown } | undefined;
    try {
      known = await this.#update(server, (read) => {
        known = read;
        const added = hashes.filter(([name]) => !Object.hasOwn(read, name));
        return added.length === 0 ? undefined : { ...read, ...Object.fromEntries(added) };
      });
    } catch (error) {
      // `known` holds what could be read: a store that refuses writes still tells which tools changed.
      failure = { error };
    }
    const changed: ChangedTool[] = [];
    for (const [tool, current] of hashes) {
      const pinned = Object.hasOwn(known, tool) ? known[tool] : undefined;
      if (pinned === undefined) unchecked.push({ tool, error: failure?.error });
      else if (pinned !== current) changed.push({ server, tool, pinned, current });
    }
    return { changed, unchecked, isIncomplete: failure !== undefined };
  }

  /** Accepts the definitions as they are now: of the named tools, or of all. */
  async approve(server: string, tools?: readonly string[]): Promise<void> {
    const current = this.#current.get(server) ?? {};
    const accepted = Object.entries(current).filter(([name]) => tools === undefined || tools.includes(name));
    await this.#update(
      server,
      (known) => ({ ...known, ...Object.fromEntries(accepted) }),
      // Accepting every definition also replaces a damaged record; accepting a few would drop the pins of the rest.
      tools === undefined ? () => ({}) : undefined,
    );
  }

  /** Compare-and-set: other processes may pin at the same time, and what they pinned first holds. */
  async #update(
    server: string,
    change: (known: Hashes) => Hashes | undefined,
    onDamaged: (error: StateError) => Hashes = (error) => {
      throw error;
    },
  ): Promise<Hashes> {
    const { store, principal, identityOf } = this.#parts;
    const prefix = userPrefix("pins", principal);
    // Version 0.1 kept pins by the name alone.
    const keyByName = `${prefix}${encodeURIComponent(server)}`;
    const identity = identityOf(server);
    const key = identity === undefined ? keyByName : `${prefix}${identity}`;
    for (;;) {
      const record = await store.get(key);
      const earlier = record === undefined && key !== keyByName ? await store.get(keyByName) : undefined;
      const value = (record ?? earlier)?.value;
      const known = value === undefined ? {} : (readHashes(value) ?? onDamaged(damaged(server)));
      const next = change(known) ?? (earlier === undefined ? undefined : known);
      if (next === undefined) return known;
      if ((await store.put(key, next, { ifVersion: record?.version ?? 0 })) === undefined) continue;
      if (earlier !== undefined) await store.delete(keyByName, { ifVersion: earlier.version });
      return next;
    }
  }
}

/** Undefined if it is no record of pins. An unreadable record must not pass for one without pins. */
function readHashes(value: unknown): Hashes | undefined {
  const isRecord =
    typeof value === "object" &&
    value !== null &&
    !Array.isArray(value) &&
    Object.values(value).every((hash) => typeof hash === "string");
  return isRecord ? (value as Hashes) : undefined;
}

const damaged = (server: string): StateError =>
  new StateError({
    code: "CORRUPT",
    server,
    what: "The record of pinned definitions is damaged",
    next: "Look at the tools of the server, then pin them anew with approveTools()",
  });
