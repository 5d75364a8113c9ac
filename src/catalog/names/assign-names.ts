/** Gives every tool its public name: fit for every provider, unlike any other, and the same tomorrow as today. */
import type { ServerRef } from "../../model/listed-tool.js";
import { lookOf, mixesLookAlikes } from "../safety/look-alikes.js";
import type { SourceTool } from "../source-tool.js";
import { NameOwners, RESERVED } from "./name-owners.js";
import { type NamedTool, plainNames, toolIdentity } from "./plain-names.js";
import { isSafeName, type NameParts } from "./safe-name.js";

export interface NameOptions {
  /** `server__tool` instead of `tool`. */
  readonly prefix: boolean;
  /** Stands before everything else: `additional__server__tool`. Empty: nothing does. */
  readonly additionalToolNamePrefix: string;
  /** Its name replaces every prefix; it is still made safe and unlike all others. */
  readonly toolNameMapper?: ((server: ServerRef, tool: SourceTool) => string) | undefined;
  /** {@link AssignedNames.given} of the last time: who has a name keeps it, and nobody else gets it. */
  readonly previous?: ReadonlyMap<string, string> | undefined;
  /** More names of Toolport's own than those that always are. */
  readonly reserved?: readonly string[] | undefined;
}

/**
 * - `invalid`: some provider would refuse the name
 * - `reserved`: the name is one of Toolport's own
 * - `collision`: another tool has the name, or one too much like it
 * - `look-alike`: the name could be taken for another's, or mixes letters that look alike
 * - `mapper`: the name mapper threw or returned no name
 */
export type NameIssueKind = "invalid" | "reserved" | "collision" | "look-alike" | "mapper";

/** Something to be told about a tool's name. */
export interface NameIssue {
  readonly kind: NameIssueKind;
  /** The public name it got. */
  readonly name: string;
  readonly server: string;
  readonly sourceName: string;
  /** The name it would have had. */
  readonly wanted: string;
  readonly reason: string;
}

export interface AssignedNames {
  /** One for each tool, in the order of the tools. */
  readonly names: readonly string[];
  readonly issues: readonly NameIssue[];
  /** Who has which name, by {@link toolIdentity}; to be handed back the next time. */
  readonly given: ReadonlyMap<string, string>;
}

/** How many names of tools that are gone are still kept for them. */
const MAX_ABSENT = 10_000;
/** Nothing in such a name has to be replaced. */
const CLEAN = /^[a-zA-Z0-9_-]*$/;
/** Longer names are told apart by their fingerprint alone. */
const MAX_COMPARED = 256;

/**
 * Names all tools. `tools` come in the order in which their servers were configured: an earlier server keeps the plain
 * name, a later one gets a fingerprint, so adding a server renames nothing. The order of tools within a server does not
 * matter. With `previous`, nothing that was named before is renamed, whoever comes and goes.
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
    // Most lists are never followed by another.
    get given() {
      given ??= givenNames(tools, named.names, previous);
      return given;
    },
  };
}

type NamesAndIssues = Pick<AssignedNames, "names" | "issues">;

/** One after another, the first come first, where some want what others have. */
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

    const told = (kind: NameIssueKind, reason: string): NameIssue => {
      return { kind, name, server: server.name, sourceName, wanted, reason };
    };
    if (problem !== undefined) issues.push(told("mapper", problem));
    if (holder === RESERVED) issues.push(told("reserved", `${wanted} is a name of Toolport's own`));
    else if (holder !== undefined) issues.push(told("collision", `The name belongs to ${describe(holder)}`));
    else if (name !== wanted && !isSafeName(wanted))
      issues.push(told("invalid", "Providers would refuse the name"));

    const double =
      wanted.length <= MAX_COMPARED ? remember(looks, look ?? lookOf(wanted), identity) : undefined;
    if (double !== undefined && holder === undefined)
      issues.push(told("look-alike", `Looks like ${describe(double)}`));
    else if (mixesLookAlikes(sourceName.slice(0, MAX_COMPARED)))
      issues.push(told("look-alike", "Mixes Latin letters with others that look like them"));
  }
  return { names, issues };
}

/** What stands before the names of a server's tools, put together once a server. */
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
 * Servers as they come, the tools of each by name: how a server sorts its list must not matter. Names that can stay as they are
 * come first, so that `files_read` keeps its name beside `files.read`.
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

/** What the name is made of: a name of the user's making stands alone, a server's own goes behind the prefixes. */
function nameParts(
  { server, tool }: NamedTool,
  prefixes: readonly string[],
  toolNameMapper: NameOptions["toolNameMapper"],
): { parts: NameParts; problem?: string } {
  const alone = (name: string): { parts: NameParts } => ({ parts: { prefixes: [], tool: name } });
  // A specification mapper may have changed `name`; `sourceName` is always what the server calls it.
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

/** Names of tools that are gone are kept for their return, up to a limit; the longest gone are forgotten first. */
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

/** Returns who had the look before, if it was somebody else. */
function remember(looks: Map<string, string>, look: string, identity: string): string | undefined {
  const first = looks.get(look);
  if (first === undefined) looks.set(look, identity);
  return first === identity ? undefined : first;
}

function describe(identity: string): string {
  const [server, ...tool] = identity.split("\u0000");
  return `tool ${JSON.stringify(tool.join("\u0000"))} of server ${JSON.stringify(server)}`;
}
