/** The entries of the lists as their servers sent them, for a gateway that passes them on. */
import type { ToolInfo } from "../model/tool-info.js";
import type { CatalogEntry, CatalogIndex } from "./build-snapshot.js";
import type { Kept } from "./kept-lists.js";
import type { ListKey } from "./server-lists.js";

/** One entry of a list. */
export interface ListedItem {
  readonly server: string;
  /** Tools only: the public name. */
  readonly name?: string | undefined;
  /** As the server sent it, with its own name. Texts are cleaned, and the mapper of the program is applied. */
  readonly item: Readonly<Record<string, unknown>>;
}

const toolItems = new WeakMap<CatalogIndex, readonly ListedItem[]>();

/** All tools that are offered. Returns the same array for the same index. */
export function listedTools(index: CatalogIndex): readonly ListedItem[] {
  let items = toolItems.get(index);
  if (items === undefined) {
    items = [...index.byName.values()].map((entry) => ({
      server: entry.info.server,
      name: entry.info.name,
      item: itemOf(entry),
    }));
    toolItems.set(index, items);
  }
  return items;
}

/** The definition as sent, unless a text was cleaned or the mapper of the program changed something. */
function itemOf({ info, source }: CatalogEntry): Readonly<Record<string, unknown>> {
  const { raw } = source;
  const changed = FIELDS.filter((field) => info[field] !== source[field]);
  if (source.removedCharacters > 0) changed.push("title", "description", "annotations");
  const changes = changed.filter((field) => info[field] !== undefined || raw[field] !== undefined);
  if (changes.length === 0) return raw;
  return { ...raw, ...Object.fromEntries(changes.map((field) => [field, info[field]])) };
}

/** Fields of a tool that a mapper may change. */
const FIELDS = [
  "title",
  "description",
  "inputSchema",
  "outputSchema",
  "annotations",
  "icons",
  "execution",
  "_meta",
] satisfies (keyof ToolInfo)[];

/** The entries of another list, without those that the scan withholds. */
export function listedItems(
  server: string,
  kept: Kept | undefined,
  list: Exclude<ListKey, "tools">,
): ListedItem[] {
  if (kept === undefined) return [];
  const { lists, refusedItems } = kept;
  return lists[list].flatMap((item) => (refusedItems.has(item) ? [] : [{ server, item }]));
}
