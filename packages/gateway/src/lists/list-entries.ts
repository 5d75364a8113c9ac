/** The entries of the lists of a port, ready to be sent. */
import { type Fields, getOrMake, isForModel, isRecord, type JsonSchema, type ToolInfo } from "@toolport/base";
import type { Port } from "@toolport/core/internal";
import { withHops } from "../message.js";
import { ResourceNames } from "./resource-names.js";

export type ListKey = "tools" | "prompts" | "resources" | "resourceTemplates";

/** A tool of a server in the catalog of a port. */
export type ToolEntry = NonNullable<ReturnType<Port["catalog"]["entry"]>>;

/** One entry of a list, ready to be sent. */
export interface ListEntry {
  readonly server: string;
  /** The name or URI on the server. */
  readonly source: string;
  /** The name or URI that clients see. */
  readonly name: string;
  /** Unique in the list. Begins with the number of the server, so that pages are the same on every replica. */
  readonly key: string;
  readonly text: string;
}

/**
 * The entries in the order of their keys.
 *
 * @param ownTools in place of all tools
 */
export async function entriesOf(
  port: Port,
  list: ListKey,
  ownTools?: readonly ToolInfo[],
): Promise<readonly ListEntry[]> {
  if (list === "prompts") return promptEntries(port);
  if (list !== "tools") return resourceEntries(port, list, await resourceNames(port));
  return withSignIn(port, ownTools === undefined ? toolEntries(port) : sorted(ownEntries(port, ownTools)));
}

/** Built once for each snapshot of the catalog. */
function toolEntries(port: Port): readonly ListEntry[] {
  const snapshot = port.catalog.snapshot();
  return getOrMake(toolsBySnapshot, snapshot, () => {
    const order = serverOrder(port);
    const own = ownEntries(port, port.own.shown({ servers: undefined, all: false, isWanted: () => true }));
    const deferred = port.own.deferred();
    const listed = snapshot.tools
      .filter((info) => isForModel(info) && !deferred.has(info))
      .flatMap((info) => {
        const { server, name, sourceName: source } = info;
        return entryOf(order, { server, source, name }, publicTool(port.catalog.entry(name)!));
      });
    return sorted([...own, ...listed]);
  });
}

const toolsBySnapshot = new WeakMap<object, readonly ListEntry[]>();

function ownEntries(port: Port, infos: readonly ToolInfo[]): readonly ListEntry[] {
  const order = serverOrder(port);
  return infos.flatMap(({ name, title, description, inputSchema, annotations }) => {
    const tool = { name, title, description, inputSchema, annotations };
    return entryOf(order, { server: "", source: name, name }, tool);
  });
}

function withSignIn(port: Port, entries: readonly ListEntry[]): readonly ListEntry[] {
  const servers = waitingServers(port);
  if (servers.length === 0) return entries;
  const order = serverOrder(port);
  const added = servers.flatMap((server) => {
    const tool = signInTool(server);
    return entryOf(order, { server, source: SIGN_IN, name: tool.name }, tool);
  });
  return sorted([...entries, ...added]);
}

/** As the server sent it, with the public name, and with the texts that the catalog has cleaned or mapped. */
function publicTool({ info, source }: ToolEntry): Fields {
  const { name, title, description, inputSchema, outputSchema, annotations } = info;
  return {
    ...source.raw,
    name,
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    inputSchema: toListedSchema(inputSchema),
    ...(outputSchema !== undefined && { outputSchema }),
    ...(annotations !== undefined && { annotations }),
  };
}

/**
 * The schema with a root of the form that the specification asks for. Clients of the SDKs refuse the whole list if one root has
 * another form: no type, `required: null`, a property that is `true`.
 */
function toListedSchema(schema: JsonSchema): JsonSchema {
  const listed: Record<string, unknown> = { ...schema, type: "object" };
  const { $schema, properties, required } = listed;
  if (typeof $schema !== "string") delete listed["$schema"];
  if (!Array.isArray(required) || !required.every((name) => typeof name === "string"))
    delete listed["required"];
  if (isRecord(properties)) {
    const members = Object.entries(properties).map(([name, member]) => {
      if (isRecord(member)) return [name, member];
      return [name, member === false ? { not: {} } : {}];
    });
    listed["properties"] = Object.fromEntries(members);
  } else delete listed["properties"];
  return listed;
}

function promptEntries(port: Port): readonly ListEntry[] {
  const order = serverOrder(port);
  const names = port.catalog.promptNames();
  return sorted(
    port.catalog.items("prompts").flatMap(({ server, item }, index) => {
      const name = names[index]!;
      return entryOf(order, { server, source: item["name"] as string, name }, { ...item, name });
    }),
  );
}

function resourceEntries(
  port: Port,
  list: "resources" | "resourceTemplates",
  names: ResourceNames,
): readonly ListEntry[] {
  const order = serverOrder(port);
  const field = list === "resources" ? "uri" : "uriTemplate";
  return sorted(
    port.catalog.items(list).flatMap(({ server, item }) => {
      const source = item[field] as string;
      const name =
        list === "resources" ? names.toPublic(server, source) : names.templateToPublic(server, source);
      return entryOf(order, { server, source, name }, name === source ? item : { ...item, [field]: name });
    }),
  );
}

interface NameWait {
  readonly signal?: AbortSignal | undefined;
  /** How long to wait for servers that are not connected yet. */
  readonly limitMs?: number | undefined;
  /** Whether it matters what a server lists, also if there is only one. @default false */
  readonly needsLists?: boolean | undefined;
}

/** The names of all resources, after reading the lists that are not known yet. */
export async function resourceNames(
  port: Port,
  { needsLists = false, ...wait }: NameWait = {},
): Promise<ResourceNames> {
  const servers = port.configs().map(({ name }) => name);
  // The scan may withhold a resource, which is known once the list is.
  if (needsLists || servers.length > 1 || port.parts.settings.scan !== undefined)
    await Promise.all([port.need("resources", wait), port.need("resourceTemplates", wait)]);
  const listed = port.catalog.items("resources");
  return getOrMake(namesByItems, listed, () => {
    const templates = port.catalog.items("resourceTemplates");
    return new ResourceNames(
      servers,
      listed.map(({ server, item }) => ({ server, uri: item["uri"] as string })),
      templates.map(({ server, item }) => ({ server, uri: item["uriTemplate"] as string })),
    );
  });
}

const namesByItems = new WeakMap<object, ResourceNames>();

const serverOrder = (port: Port): ReadonlyMap<string, number> =>
  new Map(port.configs().map(({ name }, index) => [name, index]));

/** No entry if it has passed too many gateways. */
function entryOf(
  order: ReadonlyMap<string, number>,
  { server, source, name }: Pick<ListEntry, "server" | "source" | "name">,
  item: Fields,
): ListEntry[] {
  const shown = withHops(item);
  if (shown === undefined) return [];
  const place = String(order.get(server) ?? 0).padStart(4, "0");
  const key = server === "" ? `-${name}` : `${place}/${name}`;
  return [{ server, source, name, key, text: JSON.stringify(shown) }];
}

const sorted = (entries: readonly ListEntry[]): readonly ListEntry[] =>
  [...entries].sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));

const SUFFIX = "__sign_in";

/** Name on the server, for policies and the audit log. */
export const SIGN_IN = "sign_in";

/** The servers that wait for a login. */
const waitingServers = (port: Port): string[] =>
  port.pool
    .created()
    .filter(({ name, state }) => state.status === "authenticating" && !port.catalog.knows(name))
    .map(({ name }) => name);

export const signInTool = (server: string) => ({
  name: `${server}${SUFFIX}`,
  title: `Log in to ${server}`,
  description: `The tools of ${server} can be used after a login. Call this tool to begin it.`,
  inputSchema: { type: "object", properties: {} },
});

/** The server of such a tool. Undefined for any other name, and if the server does not wait for a login. */
export const signInServer = (port: Port, name: string): string | undefined =>
  name.endsWith(SUFFIX) ? waitingServers(port).find((server) => `${server}${SUFFIX}` === name) : undefined;
