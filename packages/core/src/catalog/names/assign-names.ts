/** Gives every tool and every prompt a public name: valid for every provider, unique, and stable over time. */
import {
  cleanName,
  isSafeName,
  joinName,
  lookOf,
  lookOfAscii,
  markedNames,
  mixesLookAlikes,
  type NameParts,
  type ServerRef,
  toolIdentity,
} from "@toolport/base";
import type { SourceTool } from "../source-tool.js";

export interface NameOptions {
  /** `server__tool` instead of `tool`. */
  readonly prefix: boolean;
  /** Comes before everything else: `additional__server__tool`. Empty for none. */
  readonly additionalToolNamePrefix: string;
  /** The returned name replaces every prefix. It is still made valid and unique. */
  readonly toolNameMapper?: ((server: ServerRef, tool: SourceTool) => string) | undefined;
  /** {@link AssignedNames.given} of the last time: tools keep their names, and no other tool gets them. */
  readonly previous?: ReadonlyMap<string, string> | undefined;
  /** Reserved names, in addition to those that always are. */
  readonly reserved?: readonly string[] | undefined;
}

/**
 * - `invalid`: some provider would reject the name
 * - `reserved`: the name is one of Toolport's own
 * - `collision`: another tool has the name, or a very similar one
 * - `look-alike`: the name could be mistaken for another, or mixes letters that look alike
 * - `mapper`: the name mapper threw or returned no name
 */
export type NameIssueKind = "invalid" | "reserved" | "collision" | "look-alike" | "mapper";

/** A problem with the name of a tool. */
export interface NameIssue {
  readonly kind: NameIssueKind;
  /** The public name that the tool got. */
  readonly name: string;
  readonly server: string;
  readonly sourceName: string;
  /** The name that it would have had. */
  readonly wanted: string;
  readonly reason: string;
}

interface AssignedNames {
  /** One for each tool, in the order of the tools. */
  readonly names: readonly string[];
  readonly issues: readonly NameIssue[];
  /** The owner of each name, by {@link toolIdentity}; pass it as `previous` the next time. */
  readonly given: ReadonlyMap<string, string>;
}

/** How many names stay reserved for tools that are no longer listed. */
const MAX_ABSENT = 10_000;
/** Characters that need no replacement. */
const CLEAN = /^[a-zA-Z0-9_-]*$/;
/** Longer names are distinguished by their fingerprint only. */
const MAX_COMPARED = 256;

/**
 * Names all tools. `tools` are in the configured order of their servers: an earlier server keeps the plain name, a later one
 * gets a fingerprint, so adding a server renames nothing. The order of tools within a server does not matter. With
 * `previous`, no named tool is renamed when others are added or removed.
 */
export function assignNames(tools: readonly NamedTool[], options: NameOptions): AssignedNames {
  const { toolNameMapper, previous = new Map(), reserved } = options;
  const prefixesOf = createPrefixes(options);
  const plain =
    toolNameMapper === undefined
      ? plainNames(tools, new NameOwners(previous, reserved), prefixesOf)
      : undefined;
  const named = plain === undefined ? nameInTurn(tools, prefixesOf, options) : { names: plain, issues: [] };
  let given: ReadonlyMap<string, string> | undefined;
  return {
    ...named,
    // On first use, for the first `tools()` of `npm run bench:growth`: most lists are never followed by another.
    get given() {
      given ??= givenNames(tools, named.names, previous);
      return given;
    },
  };
}

/** Names the tools one after the other, when some names collide. */
function nameInTurn(
  tools: readonly NamedTool[],
  prefixesOf: (server: string) => readonly string[],
  { toolNameMapper, previous = new Map(), reserved }: NameOptions,
): Pick<AssignedNames, "names" | "issues"> {
  const owners = new NameOwners(previous, reserved);
  const looks = new Map<string, string>();
  const names = new Array<string>(tools.length);
  const issues: NameIssue[] = [];
  for (const index of namingOrder(tools)) {
    const { server, tool } = tools[index]!;
    const { sourceName } = tool;
    const identity = toolIdentity(server.name, sourceName);
    const { parts, problem } = nameParts(tools[index]!, prefixesOf(server.name), toolNameMapper);
    const { name, wanted, look, holder } = owners.assign(parts, identity);
    names[index] = name;

    const issue = (kind: NameIssueKind, reason: string): NameIssue => {
      return { kind, name, server: server.name, sourceName, wanted, reason };
    };
    if (problem !== undefined) issues.push(issue("mapper", problem));
    if (holder === RESERVED) issues.push(issue("reserved", `${wanted} is reserved for a tool of Toolport`));
    else if (holder !== undefined) issues.push(issue("collision", `The name belongs to ${describe(holder)}`));
    else if (name !== wanted && !isSafeName(wanted))
      issues.push(issue("invalid", "Some providers would reject the name"));

    const double =
      wanted.length <= MAX_COMPARED ? remember(looks, look ?? lookOf(wanted), identity) : undefined;
    if (double !== undefined && holder === undefined)
      issues.push(issue("look-alike", `Looks like ${describe(double)}`));
    else if (mixesLookAlikes(sourceName.slice(0, MAX_COMPARED)))
      issues.push(issue("look-alike", "Mixes Latin letters with others that look like them"));
  }
  return { names, issues };
}

/** The prefixes of a server's tools. */
function createPrefixes({ prefix, additionalToolNamePrefix }: NameOptions) {
  return (server: string): readonly string[] =>
    [additionalToolNamePrefix, prefix ? server : ""].filter((part) => part !== "");
}

/**
 * Servers in order, the tools of each by name, because the order of a server's list must not matter. Names that can stay
 * unchanged come first, so that `files_read` keeps its name beside `files.read`.
 */
function namingOrder(tools: readonly NamedTool[]): number[] {
  const ranks = new Map<string, number>();
  for (const { server } of tools) if (!ranks.has(server.name)) ranks.set(server.name, ranks.size);
  const rank = (index: number): number => ranks.get(tools[index]!.server.name)!;
  const isClean = tools.map(({ tool }) => Number(CLEAN.test(tool.sourceName)));
  const byName = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
  return tools
    .map((_, index) => index)
    .sort(
      (a, b) =>
        rank(a) - rank(b) ||
        isClean[b]! - isClean[a]! ||
        byName(tools[a]!.tool.sourceName, tools[b]!.tool.sourceName),
    );
}

/** The parts of the name: a name from the mapper gets no prefix, the name from the server does. */
function nameParts(
  { server, tool }: NamedTool,
  prefixes: readonly string[],
  toolNameMapper: NameOptions["toolNameMapper"],
): { parts: NameParts; problem?: string } {
  const alone = (name: string): { parts: NameParts } => ({ parts: { prefixes: [], tool: name } });
  // A specification mapper may have changed `name`; `sourceName` is the name on the server.
  if (tool.name !== tool.sourceName && isName(tool.name)) return alone(tool.name);
  const parts: NameParts = { prefixes, tool: tool.sourceName };
  if (toolNameMapper === undefined) return { parts };
  try {
    const mapped: unknown = toolNameMapper(server, tool);
    if (isName(mapped)) return alone(mapped);
    if (mapped instanceof Promise) mapped.catch(() => {});
    return { parts, problem: "The name mapper returned no name" };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { parts, problem: `The name mapper threw: ${message}` };
  }
}

const isName = (name: unknown): name is string => typeof name === "string" && name !== "";

/** Keeps the names of tools that are no longer listed, up to a limit; the oldest are dropped first. */
function givenNames(
  tools: readonly NamedTool[],
  names: readonly string[],
  previous: ReadonlyMap<string, string>,
): Map<string, string> {
  const present = new Map<string, string>();
  for (let index = 0; index < tools.length; index += 1) {
    const { server, tool } = tools[index]!;
    const identity = toolIdentity(server.name, tool.sourceName);
    if (!present.has(identity)) present.set(identity, names[index]!);
  }
  if (previous.size === 0) return present;
  const absent = [...previous].filter(([identity]) => !present.has(identity));
  return new Map([...absent.slice(-MAX_ABSENT), ...present]);
}

/** Returns the previous owner of the look, if it is another tool. */
function remember(looks: Map<string, string>, look: string, identity: string): string | undefined {
  const first = looks.get(look);
  if (first === undefined) looks.set(look, identity);
  return first === identity ? undefined : first;
}

function describe(identity: string): string {
  const [server, ...tool] = identity.split("\u0000");
  return `tool ${JSON.stringify(tool.join("\u0000"))} of server ${JSON.stringify(server)}`;
}

interface NamedTool {
  readonly server: ServerRef;
  readonly tool: SourceTool;
}

/**
 * Undefined as soon as one tool cannot have the name it wants. Without collisions the order does not matter, and there are
 * no issues to report.
 */
export function plainNames(
  tools: readonly NamedTool[],
  owners: NameOwners,
  prefixesOf: (server: string) => readonly string[],
): string[] | undefined {
  const names: string[] = [];
  let last: ServerRef | undefined;
  let lead = "";
  for (const { server, tool } of tools) {
    const { sourceName } = tool;
    // A name from the user's mapper.
    if (tool.name !== sourceName) return undefined;
    if (server !== last) lead = joinName({ prefixes: prefixesOf(server.name), tool: "" });
    last = server;
    const name = lead + sourceName;
    if (!owners.claim(name, toolIdentity(server.name, sourceName))) return undefined;
    names.push(name);
  }
  return names;
}

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
const RESERVED = "toolport";

interface Assigned {
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

/** A prompt as its server lists it. */
interface ListedPrompt {
  readonly server: string;
  readonly item: Readonly<Record<string, unknown>>;
}

export class PromptNames {
  #named: { readonly prompts: readonly ListedPrompt[]; readonly names: readonly string[] } | undefined;
  #given: ReadonlyMap<string, string> | undefined;

  constructor(private readonly naming: Pick<NameOptions, "prefix" | "additionalToolNamePrefix">) {}

  /** One name for each prompt, in their order; computed once for the same array. Prompts that had a name before keep it. */
  of(prompts: readonly ListedPrompt[]): readonly string[] {
    if (this.#named?.prompts === prompts) return this.#named.names;
    const { prefix, additionalToolNamePrefix } = this.naming;
    const refs = new Map(prompts.map(({ server }) => [server, { name: server }]));
    const named = prompts.map(({ server, item }) => {
      const name = item["name"] as string;
      // The rules need the name of a tool only.
      return { server: refs.get(server)!, tool: { name, sourceName: name } as SourceTool };
    });
    const assigned = assignNames(named, { prefix, additionalToolNamePrefix, previous: this.#given });
    this.#given = assigned.given;
    this.#named = { prompts, names: assigned.names };
    return assigned.names;
  }
}
