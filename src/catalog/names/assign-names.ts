/** Gives every tool a public name: valid for every provider, unique, and stable over time. */
import type { ServerRef } from "../../model/listed-tool.js";
import { lookOf, mixesLookAlikes } from "../safety/look-alikes.js";
import type { SourceTool } from "../source-tool.js";
import { NameOwners, RESERVED } from "./name-owners.js";
import { type NamedTool, plainNames, toolIdentity } from "./plain-names.js";
import { isSafeName, type NameParts } from "./safe-name.js";

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

export interface AssignedNames {
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
    // Computed lazily: most lists are never followed by another.
    get given() {
      given ??= givenNames(tools, named.names, previous);
      return given;
    },
  };
}

type NamesAndIssues = Pick<AssignedNames, "names" | "issues">;

/** Names the tools one after the other, when some names collide. */
function nameInTurn(
  tools: readonly NamedTool[],
  prefixesOf: (server: string) => readonly string[],
  { toolNameMapper, previous = new Map(), reserved }: NameOptions,
): NamesAndIssues {
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

/** The prefixes of a server's tools, computed once for each server. */
function createPrefixes({ prefix, additionalToolNamePrefix }: NameOptions) {
  const known = new Map<string, readonly string[]>();
  return (server: string): readonly string[] => {
    let prefixes = known.get(server);
    if (prefixes === undefined) {
      prefixes = [additionalToolNamePrefix, prefix ? server : ""].filter((part) => part !== "");
      known.set(server, prefixes);
    }
    return prefixes;
  };
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
