/** The catalog of all servers under public names. Snapshots are immutable; every change creates a new one. */

import {
  CatalogError,
  debugChannel,
  getOrMake,
  isForModel,
  isUiResource,
  oncePerObject,
  type PromptInfo,
  type ResourceInfo,
  type ResourceTemplateInfo,
  ToolCallError,
  type ToolInfo,
} from "@toolport/base";
import type { ServerConfig } from "../config/server-config.js";
import type { CacheOption } from "../config/server-entry.js";
import { LIST_KEYS, type ListName } from "../protocol/change-watch.js";
import {
  buildSnapshot,
  type CatalogEntry,
  type CatalogIndex,
  type CatalogSnapshot,
  type CatalogSource,
  FallbackTools,
  type NamingOptions,
  type SharedSnapshots,
} from "./build-snapshot.js";
import {
  type CatalogExport,
  type ExportedServer,
  exportRead,
  exportServer,
  restoreServer,
} from "./exported-catalog.js";
import { type CompiledFilter, compileFilter, type FilterInput, type ToolFilters } from "./filters.js";
import {
  describeKept,
  isSameKept,
  type Kept,
  listsOf,
  mergeLists,
  publicKeysOf,
  type ReadLists,
} from "./kept-lists.js";
import { PromptNames } from "./names/assign-names.js";
import {
  comparePinsAgain,
  type Examined,
  examineLists,
  type ListsToExamine,
  NOT_EXAMINED,
} from "./safety/examine-lists.js";
import type { ChangedTool, Pins } from "./safety/pins.js";
import { suspiciousIn } from "./safety/sanitise.js";
import type { ListItem, ScanHook } from "./safety/scan.js";
import type { SearchIndex, SearchMatch } from "./search/search-index.js";
import { type ListKey, NO_LISTS, type ServerLists } from "./server-lists.js";
import type { ToolList } from "./source-tool.js";

const debug = debugChannel("catalog");

/** Dependencies and options of a catalog. */
export interface CatalogOptions {
  naming: NamingOptions;
  filters: FilterSet;
  pins: Pins;
  scan: ScanHook | undefined;
  cache: CacheOption;
  listTimeoutMs: number;
  /** The servers in their configured order, which decides who keeps a plain name. */
  servers: () => readonly ServerConfig[];
  onChanged: (server: string) => void;
  /** Snapshots that users with the same lists share; undefined: this port shares none. */
  snapshots?: { readonly shared: SharedSnapshots; readonly filters: FilterSet } | undefined;
  /** The lists of a server were read from the server itself. Lists that it was not asked for are missing. */
  onRead?:
    | ((server: string, lists: () => Partial<ExportedServer>, publicKeys: readonly ListKey[]) => void)
    | undefined;
  /** The server reported changes of these lists, and they have been read again. */
  onListsChanged: (server: string, lists: readonly ListName[]) => void;
  onToolChanged: (change: ChangedTool) => void;
  onWarning: (server: string, message: string) => void;
}

export class Catalog {
  readonly #kept = new Map<string, Kept>();
  #restoring: Promise<void>[] = [];
  /** Servers whose lists the program has given. */
  #exported: Set<string> | undefined;
  readonly #fallbackTools = new FallbackTools();
  #comparing: Promise<void> | undefined;
  #snapshot: CatalogSnapshot | undefined;
  #filterVersion = -1;
  // Built on first use: many programs only list tools.
  #search: SearchIndex | undefined;
  #promptNames: PromptNames | undefined;
  /** Entries of the lists other than tools, until the next change. */
  #items: Map<ListKey, readonly ListedItem[]> | undefined;

  constructor(readonly options: CatalogOptions) {}

  /** Restores exported or saved lists. */
  restore({ servers }: CatalogExport, origin: "export" | "store" = "export"): void {
    const { scan, pins } = this.options;
    const isExamined = scan !== undefined || pins.mode !== "off";
    for (const [server, exported] of Object.entries(servers)) {
      // The program's own export takes precedence, whichever is examined first.
      if (origin === "store" && this.#exported?.has(server)) continue;
      if (origin === "export") {
        this.#exported ??= new Set();
        this.#exported.add(server);
      }
      const kept = restoreServer(exported, origin);
      // An export is untrusted: it is scanned and compared with the pins like lists of a server.
      if (isExamined) this.#restoring.push(this.#restoreExamined(server, kept));
      else this.#keep(server, kept);
    }
  }

  get isRestoring(): boolean {
    return this.#restoring.length > 0;
  }

  /** Waits until restored lists have been examined. */
  async restored(): Promise<void> {
    if (this.#restoring.length === 0) return;
    const all = [...this.#restoring];
    await Promise.all(all);
    // Only now, so that other callers wait, too.
    this.#restoring = this.#restoring.filter((each) => !all.includes(each));
  }

  export(): CatalogExport {
    const servers = [...this.#kept].map(([server, kept]) => [server, exportServer(kept)] as const);
    return { toolport: 1, servers: Object.fromEntries(servers) };
  }

  /** True if a list of a server is known, connected or not. */
  knows(server: string, list: ListKey = "tools"): boolean {
    const kept = this.#kept.get(server);
    return kept !== undefined && (kept.origin !== "server" || kept.reads[list] !== undefined);
  }

  /**
   * Keeps lists that were read. Resolves with those that differ from the ones that were read before.
   *
   * @param isCheck nothing is reported if all are the same
   */
  async merge(server: string, read: ReadLists, isCheck: boolean): Promise<readonly ListKey[]> {
    const { onWarning, onRead } = this.options;
    const lists = { ...NO_LISTS, ...listsOf(read.lists) };
    const keys = read.lists.map(({ key }) => key);
    if (keys.includes("tools") && isNews(lists.tools.tools))
      for (const finding of listFindings(lists.tools)) onWarning(server, finding);
    const examined = await this.#examine(server, { lists, keys });
    const before = this.#kept.get(server);
    const kept = mergeLists(before, read, examined);
    const refused = [...kept.refusedItems].filter(([item]) => before?.refusedItems.has(item) !== true);
    for (const finding of itemFindings(new Map(refused))) onWarning(server, finding);
    const news = keys.filter((key) => !isSameKept(key, before, kept));
    if (isCheck && news.length === 0) this.#kept.set(server, kept);
    else {
      this.#keep(server, kept);
      onRead?.(server, () => exportRead(kept), publicKeysOf(kept));
    }
    return news.filter((key) => before?.reads[key] !== undefined);
  }

  /** What is known about a server. */
  keptOf = (server: string): Kept | undefined => this.#kept.get(server);

  /** The server was removed. */
  drop(server: string): void {
    const wasAway = this.#fallbackTools.mark(server, false);
    if (this.#kept.delete(server) || wasAway) this.#changed(server);
  }

  /** Sets whether calls to a server currently go to its fallback. */
  setAway(server: string, isAway: boolean): void {
    if (this.#fallbackTools.mark(server, isAway) && !this.knows(server)) this.#changed(server);
  }

  /** True if the tools of a server are known from its fallback servers only. */
  needsFallbackTools(config: ServerConfig): boolean {
    return !this.knows(config.name) && this.#fallbackTools.isNeeded(config);
  }

  /** Accepts changed definitions, and offers the tools again. */
  async approve(server: string, tools?: readonly string[]): Promise<void> {
    await this.options.pins.approve(server, tools);
    if (await this.#comparePins(server)) this.options.onListsChanged(server, ["tools"]);
  }

  /** Another process changed the pins of a server. Never rejects. */
  async pinsChanged(server: string): Promise<void> {
    const { onListsChanged, onWarning } = this.options;
    try {
      if (await this.#comparePins(server)) onListsChanged(server, ["tools"]);
    } catch (error) {
      onWarning(server, `Its tools could not be compared with changed pins: ${String(error)}`);
    }
  }

  /** Compares definitions again if the store failed before. Concurrent callers share one comparison. */
  async checkDuePins(): Promise<void> {
    const due = [...this.#kept].filter(([, { isPinCheckDue }]) => isPinCheckDue);
    if (due.length === 0) return;
    this.#comparing ??= Promise.all(due.map(([server]) => this.#comparePins(server)))
      .then(() => {})
      .finally(() => {
        this.#comparing = undefined;
      });
    await this.#comparing;
  }

  entry(name: string): CatalogEntry | undefined {
    return this.snapshot().index().byName.get(name);
  }

  /** A tool of a server by its name on that server. */
  find(server: string, sourceName: string): CatalogEntry | undefined {
    return this.snapshot().index().bySource.get(server)?.get(sourceName);
  }

  tools = (): readonly ToolInfo[] => this.snapshot().tools;

  /** The index is loaded and built with the first search. */
  async search(query: string, limit: number): Promise<SearchMatch[]> {
    const { createSearchIndex } = await import("./search/search-index.js");
    const snapshot = this.snapshot();
    this.#search ??= createSearchIndex(snapshot.tools.filter(isForModel));
    return this.#search.search(query, { limit });
  }

  resources = (): ResourceInfo[] => this.#all<ResourceInfo>("resources");
  resourceTemplates = (): ResourceTemplateInfo[] => this.#all<ResourceTemplateInfo>("resourceTemplates");
  prompts = (): PromptInfo[] => this.#all<PromptInfo>("prompts");

  /** The entries of a list as the servers sent them, in the order of the servers. The same array until something changes. */
  items(list: ListKey): readonly ListedItem[] {
    if (list === "tools") return listedTools(this.snapshot().index());
    this.#items ??= new Map();
    return getOrMake(this.#items, list, () =>
      this.options.servers().flatMap(({ name }) => listedItems(name, this.#kept.get(name), list)),
    );
  }

  /** Public names of all prompts, in the order of `items("prompts")`. */
  promptNames(): readonly string[] {
    this.#promptNames ??= new PromptNames(this.options.naming);
    return this.#promptNames.of(this.items("prompts"));
  }

  /** The prompt of this public name. */
  prompt(publicName: string): { readonly server: string; readonly name: string } | undefined {
    const found = this.items("prompts")[this.promptNames().indexOf(publicName)];
    return found && { server: found.server, name: found.item["name"] as string };
  }

  /** Why the scan withholds a prompt (by name) or a resource (by URI). */
  refusalOf(server: string, list: "prompts" | "resources", id: string): string | undefined {
    const { lists, refusedItems } = this.#kept.get(server) ?? {};
    const key = list === "prompts" ? "name" : "uri";
    const item = refusedItems?.size ? lists?.[list].find((listed) => listed[key] === id) : undefined;
    return item && refusedItems?.get(item);
  }

  /** Invisible characters: removed from titles and descriptions, only reported elsewhere. */
  textFindings(): TextFinding[] {
    return [...this.#kept].flatMap(([server, { lists }]) => textFindings(server, lists));
  }

  /** The current snapshot; built on first use after a change. */
  snapshot(): CatalogSnapshot {
    const { filters: set, naming, servers, snapshots, onWarning } = this.options;
    const { version } = set;
    const previous = this.#snapshot;
    if (previous !== undefined && this.#filterVersion === version) return previous;
    const { filters } = set;
    const configs = servers();
    const listed = new Map<string, CatalogSource>();
    for (const config of configs) {
      const kept = this.#kept.get(config.name);
      if (kept !== undefined)
        listed.set(config.name, { config, list: kept.lists.tools, refused: kept.refused });
    }
    const sources = configs.flatMap(
      (config) => listed.get(config.name) ?? this.#fallbackTools.sourceOf(config, listed, filters) ?? [],
    );
    this.#filterVersion = version;
    this.#search = undefined;
    const build = (from: CatalogSnapshot | undefined) =>
      buildSnapshot(sources, { filters, naming, previous: from, onWarning });
    // A user with filters of its own has a higher version than the filters of all users.
    const shared =
      snapshots?.filters.version === version
        ? snapshots.shared.of(sources, version, previous, () => build(undefined))
        : undefined;
    this.#snapshot = shared ?? build(previous);
    return this.#snapshot;
  }

  #all<Info>(key: "resources" | "resourceTemplates" | "prompts"): Info[] {
    return this.items(key).map(
      ({ server, item }) => ({ ...item, server, ...(isUiResource(item) && { isUi: true }) }) as Info,
    );
  }

  /** Decides what of these lists is offered. */
  #examine(
    server: string,
    read: ListsToExamine,
    onToolChanged = this.options.onToolChanged,
  ): Promise<Examined> {
    const { scan, pins, onWarning } = this.options;
    return examineLists(server, read, this.#kept.get(server) ?? NOT_EXAMINED, {
      scan,
      pins,
      onToolChanged,
      onWarning: (message) => onWarning(server, message),
    });
  }

  /** Resolves with whether something changed. */
  async #comparePins(server: string): Promise<boolean> {
    const kept = this.#kept.get(server);
    if (kept === undefined) return false;
    const compared = await comparePinsAgain(server, kept, this.options);
    // The server may have listed other tools in the meantime.
    const isNew = compared !== undefined && this.#kept.get(server) === kept;
    if (isNew) this.#keep(server, { ...kept, ...compared });
    return isNew;
  }

  async #restoreExamined(server: string, kept: Kept): Promise<void> {
    // Changes in saved lists were reported when they were read.
    const tell = kept.origin === "store" ? () => {} : undefined;
    const examined = await this.#examine(server, { lists: kept.lists, keys: LIST_KEYS }, tell);
    // Lists from the server itself take precedence.
    if (!this.#kept.has(server)) this.#keep(server, { ...kept, ...examined });
  }

  #keep(server: string, kept: Kept): void {
    this.#kept.set(server, kept);
    if (debug.enabled) debug(`[${server}] ${describeKept(kept)}`);
    this.#changed(server);
  }

  #changed(server: string): void {
    // Makes the next access rebuild the snapshot, which keeps the names of the old one.
    this.#filterVersion = -1;
    this.#items = undefined;
    this.options.onChanged(server);
  }
}

/** One entry of a list. */
interface ListedItem {
  readonly server: string;
  /** Tools only: the public name. */
  readonly name?: string | undefined;
  /** As the server sent it, with its own name. Texts are cleaned, and the mapper of the program is applied. */
  readonly item: Readonly<Record<string, unknown>>;
}

const reported = new WeakSet<object>();

/** True for a list that no user has read before: its findings are reported once. */
function isNews(list: object): boolean {
  const isFirst = !reported.has(list);
  reported.add(list);
  return isFirst;
}

/** All tools that are offered. Returns the same array for the same index. */
const listedTools = oncePerObject((index: CatalogIndex): readonly ListedItem[] =>
  [...index.byName.values()].map((entry) => {
    const { server, name } = entry.info;
    return { server, name, item: itemOf(entry) };
  }),
);

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
function listedItems(server: string, kept: Kept | undefined, list: Exclude<ListKey, "tools">): ListedItem[] {
  if (kept === undefined) return [];
  const { lists, refusedItems } = kept;
  return lists[list].flatMap((item) => (refusedItems.has(item) ? [] : [{ server, item }]));
}

/** Connection errors and timeouts stay as they are; an invalid response becomes `DISCOVERY_FAILED`. */
export function toDiscoveryError(error: unknown, server: string): unknown {
  if (!(error instanceof ToolCallError) || error.code !== "PROTOCOL") return error;
  return new CatalogError({
    code: "DISCOVERY_FAILED",
    server,
    what: `Its tools could not be listed: ${error.what}`,
    next: "Check the response of the server to tools/list",
    retryable: error.retryable,
    cause: error,
  });
}

/** Maximum number of warnings in full. */
const MAX_WARNINGS = 20;

/** One line for each withheld or sanitised tool. */
function listFindings({ tools, withheld }: ToolList): string[] {
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
const itemFindings = (refused: ReadonlyMap<ListItem, string>): string[] =>
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

function textFindings(server: string, { tools }: ServerLists): TextFinding[] {
  return tools.tools.flatMap((tool) => {
    const { sourceName: name, removedCharacters: removed } = tool;
    const { count, paths } = suspiciousIn(tool);
    return removed + count === 0 ? [] : [{ server, name, removed, left: count, paths: [...paths] }];
  });
}

/** The filters of one user, which can change while a port runs. */
export interface FilterSet {
  /** Increases with every change, so that the catalog notices it. */
  readonly version: number;
  /** All filters, in the order in which they are applied. */
  readonly filters: readonly CompiledFilter[];
  /** Adds a filter. Returns the new version. */
  add(filter: FilterInput): number;
  /** Replaces the filters added to this set. Returns the new version. */
  set(filters: FilterInput | readonly FilterInput[]): number;
  /** Removes the filters added to this set. Returns the new version. */
  reset(): number;
}

const compile = (input: FilterInput): CompiledFilter =>
  compileFilter(typeof input === "function" ? { filter: input } : input);

const isList = (input: FilterInput | readonly FilterInput[]): input is readonly FilterInput[] =>
  Array.isArray(input);

/**
 * Creates the filter set of the plain port, which the sets of all users extend.
 *
 * @param configured rules of the options. They always apply: changes at run time can only narrow them.
 */
export function createFilterSet(configured: ToolFilters = {}): FilterSet {
  return extendFilterSet({ version: 0, filters: [compile(configured)] });
}

/** Creates the filter set of one user: the current filters of `base`, which this set cannot change, and those of the user. */
export function extendFilterSet(base: Pick<FilterSet, "version" | "filters">): FilterSet {
  let added: readonly CompiledFilter[] = [];
  let changes = 0;
  const change = (filters: readonly CompiledFilter[]): number => {
    added = filters;
    changes += 1;
    return base.version + changes;
  };
  return {
    get version() {
      return base.version + changes;
    },
    get filters() {
      return [...base.filters, ...added];
    },
    add: (filter) => change([...added, compile(filter)]),
    set: (input) => change((isList(input) ? input : [input]).map(compile)),
    reset: () => change([]),
  };
}
