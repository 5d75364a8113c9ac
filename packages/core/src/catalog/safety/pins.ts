/** Pins the hashes of definitions when they are first listed, and compares every later list with the pins. */
import { isRecord, StateError } from "@toolport/base";
import { type Store, userPrefix } from "@toolport/stores";
import type { SourceTool } from "../source-tool.js";
import { definitionHash } from "./canonical-json.js";

/** What happens if the definition of a tool changed: nothing, a warning, or Toolport withholds the tool. */
export type PinMode = "off" | "warn" | "block";

/** A definition that differs from the pinned one. */
export interface ChangedTool {
  readonly server: string;
  readonly tool: string;
  readonly pinned: string;
  readonly current: string;
}

/** A tool whose definition could not be compared with its pin, and why. */
interface UncheckedTool {
  readonly tool: string;
  readonly error: unknown;
}

/** The result of comparing a list with its pins. A tool in neither list equals its pin. */
export interface PinCheck {
  readonly changed: readonly ChangedTool[];
  readonly unchecked: readonly UncheckedTool[];
  /** The store failed. Another check may succeed. */
  readonly isIncomplete: boolean;
}

type Hashes = Readonly<Record<string, string>>;

const ALL_FINE: PinCheck = { changed: [], unchecked: [], isIncomplete: false };

interface PinParts {
  readonly store: Store;
  readonly principal: string | undefined;
  /** Returns the `serverIdentity` of a server; undefined if no entry has this name. */
  readonly identityOf: (server: string) => string | undefined;
}

export class Pins {
  /** Hashes of the last list, for `approve`. */
  readonly #current = new Map<string, Hashes>();

  constructor(
    readonly mode: PinMode,
    private readonly parts: PinParts,
  ) {}

  /** Compares a list with the pins, and pins new tools. Never throws. */
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
      // `known` contains the pins that were read: changes are found even if the store rejects writes.
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

  /** Accepts the current definitions of the named tools, or of all. */
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

  /** Compare-and-set: other processes may pin at the same time; the first pin wins. */
  async #update(
    server: string,
    change: (known: Hashes) => Hashes | undefined,
    onDamaged: (error: StateError) => Hashes = (error) => {
      throw error;
    },
  ): Promise<Hashes> {
    const { store, principal, identityOf } = this.parts;
    const key = `${userPrefix("pins", principal)}${identityOf(server) ?? encodeURIComponent(server)}`;
    for (;;) {
      const record = await store.get(key);
      const known = record === undefined ? {} : (readHashes(record.value) ?? onDamaged(damaged(server)));
      const next = change(known);
      if (next === undefined) return known;
      if ((await store.put(key, next, { ifVersion: record?.version ?? 0 })) !== undefined) return next;
    }
  }
}

/** Undefined if it is not a record of pins. A damaged record must not count as one without pins. */
function readHashes(value: unknown): Hashes | undefined {
  const isWhole = isRecord(value) && Object.values(value).every((hash) => typeof hash === "string");
  return isWhole ? (value as Hashes) : undefined;
}

const damaged = (server: string): StateError =>
  new StateError({
    code: "CORRUPT",
    server,
    what: "The record of pinned definitions is damaged",
    next: "Review the tools of the server, then pin them again with approveTools()",
  });
