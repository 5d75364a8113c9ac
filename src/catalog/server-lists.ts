/** Reads all lists of one server. */
import type { ServerCapabilities } from "@modelcontextprotocol/client";
import { toToolportError } from "../errors/to-toolport-error.js";
import { type ListName, listNameOf } from "../protocol/change-watch.js";
import type { ListKey } from "../protocol/list-reads.js";
import type { Session } from "../protocol/session.js";
import { isSameJson } from "../util/json.js";
import { type ListKind, type ListOptions, listPages, type PagedList } from "./list-pages.js";
import { listTools, readToolsOnce as parseTools, type ToolList } from "./list-tools.js";

export type { ListKey };

export interface ServerLists {
  readonly tools: ToolList;
  readonly resources: readonly Readonly<Record<string, unknown>>[];
  readonly resourceTemplates: readonly Readonly<Record<string, unknown>>[];
  readonly prompts: readonly Readonly<Record<string, unknown>>[];
  /** When the oldest list was read (epoch milliseconds). */
  readonly readAt: number;
  /** The server's shortest time to live. */
  readonly ttlMs: number | undefined;
  /** Public lists, which may be shared with any user. */
  readonly publicKeys: readonly ListKey[];
  /** Lists that the server has; empty if lists are read one by one. */
  readonly times: Readonly<Partial<Record<ListKey, ListTime | undefined>>>;
}

/** How old a list is, and how long a client may keep it. */
export interface ListTime {
  /** Epoch milliseconds. */
  readonly readAt: number;
  readonly keepMs: number;
}

interface PlainKind extends ListKind {
  key: ListKey;
  capability: keyof ServerCapabilities & ("resources" | "prompts");
  /** The required field of an entry. */
  id: string;
}

const RESOURCES: PlainKind = {
  method: "resources/list",
  key: "resources",
  capability: "resources",
  id: "uri",
};
const TEMPLATES: PlainKind = {
  method: "resources/templates/list",
  key: "resourceTemplates",
  capability: "resources",
  id: "uriTemplate",
  // The capability covers resources only: many servers do not support the method for templates.
  isOptional: true,
};
const PROMPTS: PlainKind = { method: "prompts/list", key: "prompts", capability: "prompts", id: "name" };

/** Reads all lists at the same time. Rejects only if the tools cannot be read: the other lists are optional. */
export async function readServerLists(
  session: Session,
  options: ListOptions,
  onWarning: (message: string) => void,
): Promise<ServerLists> {
  const plain = async (kind: PlainKind): Promise<PlainList> => {
    try {
      return await readPlain(session, kind, options, onWarning);
    } catch (error) {
      if (options.signal?.aborted) throw error;
      onWarning(
        `Its ${kind.key} could not be listed: ${error instanceof Error ? error.message : String(error)}`,
      );
      return { items: [], readAt: Date.now() };
    }
  };
  const [tools, resources, resourceTemplates, prompts] = await Promise.all([
    readTools(session, options, onWarning),
    plain(RESOURCES),
    plain(TEMPLATES),
    plain(PROMPTS),
  ]);
  return {
    tools,
    resources: resources.items,
    resourceTemplates: resourceTemplates.items,
    prompts: prompts.items,
    // The lists are stored together, so the oldest time and the shortest time to live count.
    readAt: Math.min(Date.now(), ...readTimes([tools, resources, resourceTemplates, prompts])),
    ttlMs: shortest([tools, resources, resourceTemplates, prompts]),
    publicKeys: publicAmong({ tools, resources, resourceTemplates, prompts }),
    times: timesOf({ tools, resources, resourceTemplates, prompts }),
  };
}

/** One list of a server. */
export interface OneList {
  /** The list under its key. */
  readonly lists: Partial<Pick<ServerLists, ListKey>>;
  /** When the list was requested (epoch milliseconds). */
  readonly readAt: number;
  readonly ttlMs: number | undefined;
  readonly isPublic: boolean;
  /** Undefined if the server has no such list. */
  readonly keepMs: number | undefined;
}

const PLAIN_KINDS = { resources: RESOURCES, resourceTemplates: TEMPLATES, prompts: PROMPTS } as const;

/** Reads one list. Rejects if it cannot be read. */
export async function readOneList(
  session: Session,
  key: ListKey,
  options: ListOptions,
  onWarning: (message: string) => void,
): Promise<OneList> {
  const read =
    key === "tools"
      ? await readTools(session, options, onWarning)
      : await readPlain(session, PLAIN_KINDS[key], options, onWarning);
  return oneList(key, read);
}

/** A public list of another user. */
export function usePublicList(key: ListKey, list: PagedList, transport: Session["transport"]): OneList {
  const { items, ...facts } = list;
  // Only modern servers mark lists as public.
  if (key === "tools") return oneList(key, { ...parseTools(items, { era: "modern", transport }), ...facts });
  return oneList(key, { items: usableOnce(items, PLAIN_KINDS[key].id), ...facts });
}

function oneList(key: ListKey, read: ToolList | PlainList): OneList {
  const { readAt = Date.now(), ttlMs, isPublic = false } = read;
  const lists = { [key]: "items" in read ? read.items : onlyTools(read) };
  return { lists, readAt, ttlMs, isPublic, keepMs: timeOf(read)?.keepMs };
}

const complete = new WeakMap<readonly unknown[], ToolList>();

/** Without the times of the read, which differ between users. The same object for the same complete list. */
function onlyTools({ tools, withheld, cut }: ToolList): ToolList {
  if (cut !== undefined) return { tools, withheld, cut };
  const list = complete.get(tools) ?? { tools, withheld };
  complete.set(tools, list);
  return list;
}

/** The outcome of reading some lists again. */
export interface RereadLists {
  readonly lists: ServerLists;
  /** Lists that could not be read; they stay unchanged. */
  readonly failed: readonly ListName[];
}

/**
 * Reads the changed lists; the others, and those that cannot be read, stay unchanged. Rejects when the session has closed,
 * because the next session reads all lists.
 */
export async function rereadLists(
  session: Session,
  { changed, previous }: { changed: readonly ListName[]; previous: ServerLists },
  options: ListOptions,
  onWarning: (message: string) => void,
): Promise<RereadLists> {
  const failed = new Set<ListName>();
  const read: { readonly ttlMs?: number | undefined }[] = [previous];
  const again = async <List extends { readonly ttlMs?: number | undefined }>(
    name: ListName,
    ask: () => Promise<List>,
  ): Promise<List | undefined> => {
    if (!changed.includes(name)) return undefined;
    try {
      const list = await ask();
      read.push(list);
      return list;
    } catch (cause) {
      const error = toToolportError(cause, { server: session.server });
      if (error.code === "CLOSED") throw error;
      if (!failed.has(name)) onWarning(`The list of ${name} could not be read again: ${error.message}`);
      failed.add(name);
      return undefined;
    }
  };
  const plain = (name: ListName, kind: PlainKind) =>
    again(name, () => readPlain(session, kind, options, onWarning));
  const [tools, resources, resourceTemplates, prompts] = await Promise.all([
    again("tools", () => readTools(session, options, onWarning)),
    plain("resources", RESOURCES),
    plain("resources", TEMPLATES),
    plain("prompts", PROMPTS),
  ]);
  const reread = { tools, resources, resourceTemplates, prompts };
  const lists: ServerLists = {
    tools: tools ?? previous.tools,
    resources: resources?.items ?? previous.resources,
    resourceTemplates: resourceTemplates?.items ?? previous.resourceTemplates,
    prompts: prompts?.items ?? previous.prompts,
    // The oldest counts, because the lists expire together.
    readAt: previous.readAt,
    ttlMs: shortest(read),
    publicKeys: [...previous.publicKeys.filter((key) => reread[key] === undefined), ...publicAmong(reread)],
    times: { ...previous.times, ...timesOf(reread) },
  };
  return { lists, failed: [...failed] };
}

const LIST_PARTS: Readonly<Record<ListName, (lists: ServerLists) => unknown>> = {
  tools: ({ tools: { tools, withheld, cut } }) => [tools.map(({ raw }) => raw), withheld, cut],
  resources: ({ resources, resourceTemplates }) => [resources, resourceTemplates],
  prompts: ({ prompts }) => prompts,
};

/** Whether the server sent the same list again. */
export function isSameList(name: ListName, before: ServerLists, now: ServerLists): boolean {
  const publicKeys = (lists: ServerLists) => lists.publicKeys.filter((key) => listNameOf(key) === name);
  const all = (lists: ServerLists) => [LIST_PARTS[name](lists), publicKeys(lists)];
  return isSameJson(all(before), all(now));
}

interface PlainList {
  readonly items: readonly Readonly<Record<string, unknown>>[];
  readonly ttlMs?: number | undefined;
  readonly readAt?: number | undefined;
  readonly isPublic?: boolean | undefined;
  readonly isMissing?: boolean | undefined;
  readonly keepMs?: number | undefined;
}

/** Undefined if the server has no such list. */
const timeOf = ({ readAt, keepMs = 0, isMissing }: Omit<PlainList, "items">): ListTime | undefined =>
  readAt === undefined || isMissing ? undefined : { readAt, keepMs };

function timesOf(
  lists: Readonly<Record<ListKey, Omit<PlainList, "items"> | undefined>>,
): ServerLists["times"] {
  return Object.fromEntries(
    Object.entries(lists).flatMap(([key, list]) => (list === undefined ? [] : [[key, timeOf(list)]])),
  );
}

const readTimes = (lists: readonly Pick<PlainList, "readAt">[]): number[] =>
  lists.flatMap(({ readAt }) => readAt ?? []);

function publicAmong(lists: Readonly<Record<ListKey, Pick<PlainList, "isPublic"> | undefined>>): ListKey[] {
  return (Object.keys(lists) as ListKey[]).filter((key) => lists[key]?.isPublic === true);
}

function shortest(promises: readonly { readonly ttlMs?: number | undefined }[]): number | undefined {
  const given = promises.flatMap(({ ttlMs }) => ttlMs ?? []);
  return given.length > 0 ? Math.min(...given) : undefined;
}

async function readTools(
  session: Session,
  options: ListOptions,
  onWarning: (message: string) => void,
): Promise<ToolList> {
  const tools = await listTools(session, options);
  if (tools.cut !== undefined) onWarning(`The list of tools is incomplete: ${tools.cut}`);
  return tools;
}

async function readPlain(
  session: Session,
  kind: PlainKind,
  options: ListOptions,
  onWarning: (message: string) => void,
): Promise<PlainList> {
  if (session.capabilities[kind.capability] === undefined) return { items: [] };
  const { items, cut, ...facts } = await listPages(session, kind, options);
  if (cut !== undefined) onWarning(`The list of ${kind.key} is incomplete: ${cut}`);
  const good = options.intern === undefined ? usable(items, kind.id) : usableOnce(items, kind.id);
  if (good.length < items.length)
    onWarning(`${items.length - good.length} of its ${kind.key} have no ${kind.id}`);
  return { items: good, ...facts };
}

const usableItems = new WeakMap<readonly unknown[], Readonly<Record<string, unknown>>[]>();

/** Like {@link usable}, with one result for all users of the same array. An array belongs to one kind of list only. */
function usableOnce(items: readonly unknown[], id: string): Readonly<Record<string, unknown>>[] {
  const known = usableItems.get(items) ?? usable(items, id);
  usableItems.set(items, known);
  return known;
}

/** Entries with the required field. */
export function usable(items: readonly unknown[], id: string): Readonly<Record<string, unknown>>[] {
  return items.filter(
    (item): item is Record<string, unknown> =>
      typeof item === "object" && item !== null && typeof (item as Record<string, unknown>)[id] === "string",
  );
}
