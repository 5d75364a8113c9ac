/** The owner of each name while names are assigned. Names that look alike count as equal. */
import { lookOf, lookOfAscii } from "../safety/look-alikes.js";
import { cleanName, isSafeName, joinName, markedNames, type NameParts } from "./safe-name.js";

/** Names of Toolport's own tools, and of Anthropic's search that stands beside the tools of servers. No tool of a server gets one of them, or a name that looks like one. */
export const RESERVED_NAMES: readonly string[] = [
  "search_tools",
  "call_tool",
  "list_resources",
  "read_resource",
  "read_artifact",
  "tool_search_tool_bm25",
];

/** The owner of the reserved names. No tool has this identity. */
export const RESERVED = "toolport";

export interface Assigned {
  readonly name: string;
  /** The name that the tool would have without provider rules and collisions. */
  readonly wanted: string;
  /** What {@link wanted} looks like, if that was needed. */
  readonly look: string | undefined;
  /** The owner of the first choice, if it is another tool. */
  readonly holder: string | undefined;
}

export class NameOwners {
  readonly #owners = new Map<string, string>();
  readonly #kept = new Map<string, string>();

  /**
   * @param previous names given before, by identity: they stay, including those of tools that are no longer listed.
   * @param reserved further names that no tool of a server gets
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

  /** Gives a tool its plain name, if it is valid and free; false if {@link assign} has to find another. */
  claim(name: string, identity: string): boolean {
    if (!isSafeName(name)) return false;
    const look = lookOfAscii(name);
    const kept = this.#kept.size === 0 ? undefined : this.#kept.get(identity);
    if (kept === undefined ? this.#owners.has(look) : kept !== name) return false;
    if (kept === undefined) this.#owners.set(look, identity);
    else this.#kept.delete(identity);
    return true;
  }

  /** The name for a tool, and the owner of its first choice, if that is another tool. */
  assign(parts: NameParts, identity: string): Assigned {
    const plain = joinName(parts);
    // The plain name if it is valid, or with invalid characters replaced, unless another tool has it.
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
