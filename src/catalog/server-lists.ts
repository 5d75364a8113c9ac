/** Everything one server lists, read at once. */
import type { ServerCapabilities } from "@modelcontextprotocol/client";
import type { Session } from "../protocol/session.js";
import { type ListKind, type ListOptions, listPages } from "./list-pages.js";
import { listTools, type ToolList } from "./list-tools.js";

export interface ServerLists {
  readonly tools: ToolList;
  readonly resources: readonly Readonly<Record<string, unknown>>[];
  readonly resourceTemplates: readonly Readonly<Record<string, unknown>>[];
  readonly prompts: readonly Readonly<Record<string, unknown>>[];
  /** When it was read (epoch milliseconds). */
  readonly readAt: number;
  /** How long the server says it holds. */
  readonly ttlMs: number | undefined;
}

interface PlainKind extends ListKind {
  capability: keyof ServerCapabilities & ("resources" | "prompts");
  /** What an entry must have to be of any use. */
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
};
const PROMPTS: PlainKind = { method: "prompts/list", key: "prompts", capability: "prompts", id: "name" };

/** Reads all lists side by side. Only the tools can fail it: a server without its resources is still of use. */
export async function readServerLists(
  session: Session,
  options: ListOptions,
  onWarning: (message: string) => void,
): Promise<ServerLists> {
  const plain = (kind: PlainKind) => readPlain(session, kind, options, onWarning);
  const [tools, resources, resourceTemplates, prompts] = await Promise.all([
    listTools(session, options),
    plain(RESOURCES),
    plain(TEMPLATES),
    plain(PROMPTS),
  ]);
  if (tools.cut !== undefined) onWarning(`The list of tools is not whole: ${tools.cut}`);
  const promises = [tools, resources, resourceTemplates, prompts].flatMap(({ ttlMs }) => ttlMs ?? []);
  return {
    tools,
    resources: resources.items,
    resourceTemplates: resourceTemplates.items,
    prompts: prompts.items,
    readAt: Date.now(),
    // All lists are read together, so the shortest promise counts.
    ttlMs: promises.length > 0 ? Math.min(...promises) : undefined,
  };
}

interface PlainList {
  readonly items: readonly Readonly<Record<string, unknown>>[];
  readonly ttlMs?: number | undefined;
}

async function readPlain(
  session: Session,
  kind: PlainKind,
  options: ListOptions,
  onWarning: (message: string) => void,
): Promise<PlainList> {
  if (session.capabilities[kind.capability] === undefined) return { items: [] };
  try {
    const { items, cut, ttlMs } = await listPages(session, kind, options);
    if (cut !== undefined) onWarning(`The list of ${kind.key} is not whole: ${cut}`);
    const good = usable(items, kind.id);
    if (good.length < items.length)
      onWarning(`${items.length - good.length} of its ${kind.key} have no ${kind.id}`);
    return { items: good, ttlMs };
  } catch (error) {
    if (options.signal?.aborted) throw error;
    onWarning(
      `Its ${kind.key} could not be listed: ${error instanceof Error ? error.message : String(error)}`,
    );
    return { items: [] };
  }
}

/** Entries that can be asked for. */
export function usable(items: readonly unknown[], id: string): Readonly<Record<string, unknown>>[] {
  return items.filter(
    (item): item is Record<string, unknown> =>
      typeof item === "object" && item !== null && typeof (item as Record<string, unknown>)[id] === "string",
  );
}
