/** Warnings about lists that have just been read: the first few in full, the rest as a count. */
import { suspiciousIn } from "./safety/sanitise.js";
import type { ListItem } from "./safety/scan.js";
import type { ServerLists } from "./server-lists.js";
import type { ToolList } from "./source-tool.js";

/** Maximum number of warnings in full. */
const MAX_WARNINGS = 20;

/** One line for each withheld or sanitised tool. */
export function listFindings({ tools, withheld }: ToolList): string[] {
  const dirty = tools.filter(({ removedCharacters }) => removedCharacters > 0);
  return [
    ...some(withheld, ({ name, reason }) => `Tool ${name} is withheld: ${reason}`, "tools are withheld"),
    ...some(
      dirty,
      ({ name, removedCharacters }) =>
        `Tool ${name}: invisible characters were removed from its texts (${removedCharacters})`,
      "tools had invisible characters",
    ),
  ];
}

/** One line for each entry of the other lists that the scan withholds. */
export const itemFindings = (refused: ReadonlyMap<ListItem, string>): string[] =>
  some(
    [...refused],
    ([{ uri, uriTemplate, name }, reason]) =>
      `${uri ?? uriTemplate ?? name} is left out of its lists: ${reason}`,
    "entries are left out of its lists",
  );

function some<Item>(items: readonly Item[], describe: (item: Item) => string, what: string): string[] {
  const lines = items.slice(0, MAX_WARNINGS).map(describe);
  const rest = items.length - lines.length;
  return rest === 0 ? lines : [...lines, `${rest} more ${what}`];
}

/** Invisible characters in the texts of a tool. */
export interface TextFinding {
  readonly server: string;
  readonly name: string;
  /** Number of characters removed from titles and description. */
  readonly removed: number;
  /** Number of characters in the name and schemas, which stay unchanged. */
  readonly left: number;
  /** Location of those. */
  readonly paths: string[];
}

export function textFindings(server: string, { tools }: ServerLists): TextFinding[] {
  return tools.tools.flatMap((tool) => {
    const { sourceName: name, removedCharacters: removed } = tool;
    const { count, paths } = suspiciousIn(tool);
    return removed + count === 0 ? [] : [{ server, name, removed, left: count, paths: [...paths] }];
  });
}
