/** What a person should know about lists that have just been read: some of it in full, the rest as a number. */
import { suspiciousIn } from "./safety/sanitise.js";
import type { ListItem } from "./safety/scan.js";
import type { ServerLists } from "./server-lists.js";

/** A server with ten thousand bad tools has one problem. */
const MAX_TOLD = 20;

/** One line for each tool that is withheld or was cleaned. */
export function listFindings({ tools: { tools, withheld } }: ServerLists): string[] {
  const dirty = tools.filter(({ removedCharacters }) => removedCharacters > 0);
  return [
    ...some(withheld, ({ name, reason }) => `Tool ${name} is withheld: ${reason}`, "tools are withheld"),
    ...some(
      dirty,
      ({ name, removedCharacters }) =>
        `Tool ${name}: hidden characters were taken out of its texts (${removedCharacters})`,
      "tools had hidden characters",
    ),
  ];
}

/** One line for each entry that the scan leaves out of the other lists. */
export const itemFindings = (refused: ReadonlyMap<ListItem, string>): string[] =>
  some(
    [...refused],
    ([{ uri, uriTemplate, name }, reason]) =>
      `${uri ?? uriTemplate ?? name} is left out of its lists: ${reason}`,
    "entries are left out of its lists",
  );

function some<Item>(items: readonly Item[], tell: (item: Item) => string, what: string): string[] {
  const told = items.slice(0, MAX_TOLD).map(tell);
  const rest = items.length - told.length;
  return rest === 0 ? told : [...told, `${rest} more ${what}`];
}

/** Invisible characters in a tool's texts. */
export interface TextFinding {
  readonly server: string;
  readonly name: string;
  /** Removed from its titles and its description. */
  readonly removed: number;
  /** Left in its name and schemas, which stay as they are. */
  readonly left: number;
  /** Where those are. */
  readonly paths: string[];
}

export function textFindings(server: string, { tools }: ServerLists): TextFinding[] {
  return tools.tools.flatMap((tool) => {
    const { sourceName: name, removedCharacters: removed } = tool;
    const { count, paths } = suspiciousIn(tool);
    return removed + count === 0 ? [] : [{ server, name, removed, left: count, paths: [...paths] }];
  });
}
