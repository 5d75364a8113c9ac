/** What a catalog keeps of one server, and its export format. */
import type { Session } from "../protocol/session.js";
import type { ExportedServer } from "./exported-catalog.js";
import { readTools } from "./list-tools.js";
import { type Examined, NOT_EXAMINED } from "./safety/examine-lists.js";
import { type ListKey, type ServerLists, usable } from "./server-lists.js";

export interface Kept extends Examined {
  readonly lists: ServerLists;
  readonly session: Pick<Session, "era" | "transport"> | undefined;
  /** The source of the lists: the server, an export, or the store of an earlier process. */
  readonly origin: "server" | "export" | "store";
  /** Sequence number of the read. */
  readonly turn: number;
  /** Set if lists are read one by one: the lists that the server was asked for. */
  readonly parts?: Readonly<Partial<Record<ListKey, ListPart>>> | undefined;
}

/** One list that was read on its own. */
export interface ListPart {
  readonly readAt: number;
  readonly ttlMs: number | undefined;
  /** How long a client may keep the list. Undefined if the server has no such list. */
  readonly keepMs: number | undefined;
  /** Sequence number of the read. */
  readonly turn: number;
  /** The list was read for another user. */
  readonly isShared: boolean;
}

export function exportServer({ lists, session }: Kept): ExportedServer {
  return {
    tools: lists.tools.tools.map((tool) => tool.raw),
    resources: lists.resources,
    resourceTemplates: lists.resourceTemplates,
    prompts: lists.prompts,
    era: session?.era,
    transport: session?.transport,
  };
}

/** Only the lists that the server was asked for. */
export function exportParts(kept: Kept): Partial<ExportedServer> {
  const { parts = {} } = kept;
  const { era, transport, ...lists } = exportServer(kept);
  const read = Object.entries(lists).filter(([key]) => parts[key as ListKey] !== undefined);
  return { ...Object.fromEntries(read), era, transport };
}

/** The lists of a server about which nothing is known. */
export const NO_LISTS: ServerLists = {
  tools: { tools: [], withheld: [] },
  resources: [],
  resourceTemplates: [],
  prompts: [],
  readAt: 0,
  ttlMs: undefined,
  publicKeys: [],
  times: {},
};

export function restoreServer(exported: ExportedServer, origin: Kept["origin"]): Kept {
  const session = {
    era: exported.era ?? "legacy",
    transport: (exported.transport ?? "custom") as Session["transport"],
  };
  const lists: ServerLists = {
    tools: readTools(exported.tools ?? [], session),
    resources: usable(exported.resources ?? [], "uri"),
    resourceTemplates: usable(exported.resourceTemplates ?? [], "uriTemplate"),
    prompts: usable(exported.prompts ?? [], "name"),
    readAt: Date.now(),
    ttlMs: undefined,
    publicKeys: [],
    times: {},
  };
  return { lists, ...NOT_EXAMINED, session, origin, turn: 0 };
}

/** One line for debug output. */
export function describeKept({ lists: { tools, resources, prompts }, refused }: Kept): string {
  const withheld = tools.withheld.length + refused.size;
  return `${tools.tools.length} tools, ${withheld} withheld, ${resources.length} resources, ${prompts.length} prompts`;
}
