/** The names of the tools in programs, `tools.<server>.<tool>`, and the way back to the tools. */
import type { ToolInfo } from "../model/tool-info.js";
import { memberName, NameSet } from "../schema/typescript.js";
import { pushTo } from "../util/collections.js";

/** A tool and its name in programs. */
export interface ProgramTool {
  readonly tool: ToolInfo;
  readonly member: string;
}

/** The tools of one server in programs. */
export interface ProgramServer {
  /** Configured name of the server. */
  readonly server: string;
  readonly member: string;
  readonly tools: readonly ProgramTool[];
}

/** The object `tools` of programs. */
export interface ProgramApi {
  readonly servers: readonly ProgramServer[];
  /** The members of `tools`: for each server, the names of its functions. */
  readonly members: Readonly<Record<string, readonly string[]>>;
  /** The tool behind `tools[server][tool]`; undefined if there is none. */
  toolOf(server: string, tool: string): ToolInfo | undefined;
  /** The tool with this public name; undefined if there is none. */
  toolNamed(name: string): ToolInfo | undefined;
}

/** Names that would make an object special in JavaScript: awaited, serialised or converted in another way. */
const SPECIAL = new Set(
  (
    "then toJSON toString toLocaleString valueOf hasOwnProperty isPrototypeOf propertyIsEnumerable " +
    "call apply bind arguments caller length name"
  ).split(" "),
);

/** Longer names are cut. */
const MAX_NAME = 64;

/**
 * Names all tools. The names depend on the set of tools only, not on their order: `get-sum` becomes `getSum`, and if two tools want the same
 * name, the one that already has it keeps it.
 *
 * @example
 * ```ts
 * const api = createProgramApi(await toolport.tools({ all: true }));
 * api.members; // { github: ["createIssue", "listIssues"] }
 * api.toolOf("github", "createIssue")?.name; // "github__create_issue"
 * ```
 */
export function createProgramApi(tools: readonly ToolInfo[]): ProgramApi {
  const byServer = new Map<string, ToolInfo[]>();
  for (const tool of tools) pushTo(byServer, tool.server, tool);
  const members = nameAll([...byServer.keys()], (server) => server);
  const servers = [...byServer].sort(inOrder(([server]) => server)).map(([server, own]): ProgramServer => {
    const names = nameAll(own, ({ sourceName }) => sourceName);
    const named = own.map((tool) => ({ tool, member: names.get(tool)! }));
    return { server, member: members.get(server)!, tools: named.sort(inOrder(({ member }) => member)) };
  });
  const index = new Map(
    servers.map(({ member, tools: own }) => [member, new Map(own.map((each) => [each.member, each.tool]))]),
  );
  const byName = new Map(tools.map((tool) => [tool.name, tool]));
  return {
    servers,
    members: Object.fromEntries(
      servers.map(({ member, tools: own }) => [member, own.map((each) => each.member)]),
    ),
    toolOf: (server, tool) => index.get(server)?.get(tool),
    toolNamed: (name) => byName.get(name),
  };
}

/** Unique names. Those that need no change come first, so that another tool cannot take them away. */
function nameAll<Item>(items: readonly Item[], textOf: (item: Item) => string): Map<Item, string> {
  const names = new NameSet();
  const wanted = items.map((item) => ({ item, text: textOf(item), name: nameOf(textOf(item)) }));
  const sorted = wanted.sort(inOrder(({ text, name }) => `${text === name ? 0 : 1}${text}`));
  return new Map(sorted.map(({ item, name }) => [item, names.take(name)]));
}

function nameOf(text: string): string {
  const name = memberName(text).slice(0, MAX_NAME);
  return SPECIAL.has(name) ? `${name}_` : name;
}

const inOrder =
  <Item>(textOf: (item: Item) => string) =>
  (a: Item, b: Item): number => {
    const [first, second] = [textOf(a), textOf(b)];
    return first < second ? -1 : first > second ? 1 : 0;
  };
