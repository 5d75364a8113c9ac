/** Who has which name while names are given out; names that look alike count as one. */
import { lookOf, lookOfAscii } from "../safety/look-alikes.js";
import { cleanName, isSafeName, joinName, markedNames, type NameParts } from "./safe-name.js";

/** Names of Toolport's own tools; no server's tool ever gets one, nor one that looks like it. */
export const RESERVED_NAMES: readonly string[] = [
  "search_tools",
  "call_tool",
  "list_resources",
  "read_resource",
];

/** The owner of the reserved names. No tool's identity is a text like this. */
export const RESERVED = "toolport";

export interface Assigned {
  readonly name: string;
  /** The name it would have if providers took anything and nobody else had it. */
  readonly wanted: string;
  /** What {@link wanted} looks like, where that had to be known. */
  readonly look: string | undefined;
  /** Who has the one it would have got first, if that is somebody else. */
  readonly holder: string | undefined;
}

export class NameOwners {
  readonly #owners = new Map<string, string>();
  readonly #kept = new Map<string, string>();

  /**
   * @param previous names given before, by identity: they stay, also those of tools that are gone for now.
   * @param reserved more names that no server's tool gets
   */
  constructor(previous: ReadonlyMap<string, string>, reserved: readonly string[] = []) {
    for (const name of [...RESERVED_NAMES, ...reserved]) this.#owners.set(lookOf(name), RESERVED);
    for (const [identity, name] of previous) {
      const look = lookOf(name);
      if (!isSafeName(name) || this.#owners.has(look)) continue;
      this.#owners.set(look, identity);
      this.#kept.set(identity, name);
    }
  }

  /** Gives a tool its plain name, if providers take it and nobody has it; false: it is a matter for {@link assign}. */
  claim(name: string, identity: string): boolean {
    if (!isSafeName(name)) return false;
    const look = lookOfAscii(name);
    const kept = this.#kept.size === 0 ? undefined : this.#kept.get(identity);
    if (kept === undefined ? this.#owners.has(look) : kept !== name) return false;
    if (kept === undefined) this.#owners.set(look, identity);
    else this.#kept.delete(identity);
    return true;
  }

  /** The name for a tool, and who has the one it would have got first, if that is somebody else. */
  assign(parts: NameParts, identity: string): Assigned {
    const plain = joinName(parts);
    // The plain name where providers take it, or the same without what they refuse, unless another tool has that already.
    const isSafe = isSafeName(plain);
    const unmarked = isSafe ? plain : cleanName(parts);
    const marked = unmarked === undefined ? markedNames(parts, identity) : undefined;
    let name = unmarked ?? marked!.next().value;
    let look = lookOf(name);
    const owner = this.#owners.get(look);
    const holder = owner === identity ? undefined : owner;
    const wanted = { wanted: plain, look: isSafe ? look : undefined, holder };
    const kept = this.#kept.get(identity);
    if (kept !== undefined) {
      this.#kept.delete(identity);
      return { name: kept, ...wanted };
    }
    const others = owner === undefined ? undefined : (marked ?? markedNames(parts, identity));
    while (others !== undefined && this.#owners.has(look)) {
      name = others.next().value;
      look = lookOf(name);
    }
    this.#owners.set(look, identity);
    return { name, ...wanted };
  }
}
