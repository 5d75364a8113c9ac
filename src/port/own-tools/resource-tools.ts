/** Offers resources to models as two tools: one lists them, one reads them. */

import { sanitiseText } from "../../catalog/safety/sanitise.js";
import type { WaitOptions } from "../../connection/server-connection.js";
import { CatalogError } from "../../errors/catalog-error.js";
import type { CallToolOptions } from "../../execution/tool-call.js";
import type { ResourceContents, ResourceInfo, ResourceTemplateInfo } from "../../model/resource-info.js";
import { suggest } from "../../util/suggest.js";
import { type ReadResourceOptions, readResource } from "../resources/read-resource.js";
import {
  ExposedServers,
  type OwnTool,
  type OwnToolFamily,
  type OwnToolHost,
  type OwnToolItem,
  type RuledTool,
  ruledTool,
  shownOnly,
  textResult,
} from "./own-tools.js";

/** A resource or a template, as models see it. */
export interface ListedResource {
  readonly mcpServer: string;
  readonly uri: string | null;
  readonly uriTemplate: string | null;
  readonly name: string | null;
  readonly description: string | null;
  readonly mimeType: string | null;
}

/** Names, descriptions and output of the two tools. */
export interface ResourceToolsOptions {
  /** Only the resources of these servers. @default all */
  readonly servers?: readonly string[];
  readonly list?: {
    /** @default "list_resources" */
    readonly name?: string;
    readonly description?: string;
    /** Formats the list for the model. @default JSON of the list */
    readonly present?: (resources: readonly ListedResource[]) => string | Promise<string>;
  };
  readonly read?: {
    /** @default "read_resource"; `get_resource` works as well */
    readonly name?: string;
    readonly description?: string;
    /** Description of the argument `mcpServer`. */
    readonly mcpServer?: string;
    /** Description of the argument `uri`. */
    readonly uri?: string;
    /** Formats the contents for the model. @default JSON of the contents */
    readonly present?: (
      contents: readonly ResourceContents[],
      resource: { readonly server: string; readonly uri: string },
    ) => string | Promise<string>;
  };
}

/** Access to the resources, for tools of your own. */
export interface ResourceAccess {
  /** Lists the resources and templates of all servers. Connects servers that have not been listed yet. */
  list(wait?: WaitOptions): Promise<ListedResource[]>;
  read(server: string, uri: string, options?: ReadResourceOptions): Promise<ResourceContents[]>;
}

/**
 * Creates your own tools for resources, in place of the two.
 *
 * @example
 * ```ts
 * const resourcesAsTools: ResourcesPresenter = (resources) => [
 *   {
 *     name: "manual",
 *     description: "Looks up a page of the manual",
 *     inputSchema: { type: "object", properties: { page: { type: "string" } }, required: ["page"] },
 *     call: async ({ page }) => (await resources.read("docs", `docs://${page}`))[0]?.text ?? "",
 *   },
 * ];
 * ```
 */
export type ResourcesPresenter = (resources: ResourceAccess) => readonly OwnTool[];

/** Whether and how resources are offered as tools. */
export type ResourcesAsToolsOption = boolean | ResourceToolsOptions | ResourcesPresenter;

const LIST_NAME = "list_resources";
const READ_NAME = "read_resource";
/** The name in LangChain4j. */
const READ_ALIAS = "get_resource";

export function createResourceTools(
  port: OwnToolHost,
  option: Exclude<ResourcesAsToolsOption, false>,
): OwnToolFamily {
  const options = typeof option === "object" ? option : {};
  const servers = new ExposedServers(port.pool, options.servers);
  const access: ResourceAccess = {
    async list(wait = {}) {
      await port.bringUp(
        port.pool.all().filter(({ name }) => servers.has(name)),
        wait,
      );
      return listed(port, servers);
    },
    read: (server, uri, read = {}) => readResource(port, { server, resource: uri }, read),
  };
  const tools =
    typeof option === "function"
      ? option(access)
      : [listTool(access, options), readTool(port, { access, servers, options })];
  return { option: "resourcesAsTools", tools, isCoveredBy: (chosen) => servers.isCoveredBy(chosen) };
}

function listed({ catalog }: OwnToolHost, servers: ExposedServers): ListedResource[] {
  const infos: (Partial<ResourceInfo> & Partial<ResourceTemplateInfo> & { server: string })[] = [
    ...catalog.resources(),
    ...catalog.resourceTemplates(),
  ];
  const text = (value: unknown): string | null =>
    typeof value === "string" ? sanitiseText(value).text : null;
  return (
    infos
      // Interfaces are rendered by a host and are of no use to a model.
      .filter(({ server, isUi }) => servers.has(server) && isUi !== true)
      .map(({ server, uri, uriTemplate, name, description, mimeType }) => ({
        mcpServer: server,
        uri: uri ?? null,
        uriTemplate: uriTemplate ?? null,
        name: text(name),
        description: text(description),
        mimeType: text(mimeType),
      }))
  );
}

function listTool(access: ResourceAccess, { list = {} }: ResourceToolsOptions): RuledTool {
  const { name = LIST_NAME, present = JSON.stringify } = list;
  const description =
    list.description ??
    "Lists all resources of all connected servers: documents and data that can be read. Returns a JSON array; " +
      "a resource is identified by mcpServer and uri together. Where uri is null, fill in the variables of uriTemplate.";
  return ruledTool({
    name,
    description,
    inputSchema: Object.freeze({ type: "object", properties: {}, additionalProperties: false }),
    callUnder: async (rules, _args, options) =>
      present(await shownOnly(rules, await access.list(waitOf(options)), itemOf)),
  });
}

const itemOf = ({ mcpServer: server, uri, uriTemplate }: ListedResource): OwnToolItem =>
  uri === null ? { server, uri: uriTemplate ?? "", isTemplate: true } : { server, uri };

function readTool(
  port: OwnToolHost,
  {
    access,
    servers,
    options,
  }: { access: ResourceAccess; servers: ExposedServers; options: ResourceToolsOptions },
): RuledTool {
  const { read = {}, list = {} } = options;
  const { name = READ_NAME, present = presentContents } = read;
  const listName = list.name ?? LIST_NAME;
  return ruledTool({
    name,
    ...(read.name === undefined && { aliases: [READ_ALIAS] }),
    description:
      read.description ??
      `Reads a resource that ${listName} names. Returns a JSON array of its contents: text, or bytes in base64 (blob).`,
    inputSchema: Object.freeze({
      type: "object",
      properties: {
        mcpServer: { type: "string", description: read.mcpServer ?? `The mcpServer, as ${listName} gave it` },
        uri: { type: "string", description: read.uri ?? `The uri, as ${listName} gave it` },
      },
      required: ["mcpServer", "uri"],
      additionalProperties: false,
    }),
    async callUnder(rules, { mcpServer, uri }, callOptions) {
      if (typeof uri !== "string" || uri === "")
        return textResult("uri must be the address of a resource", true);
      await port.bringUp(port.pool.all(), waitOf(callOptions));
      const all = await shownOnly(rules, listed(port, servers), itemOf);
      const owners = all.flatMap((resource) => (resource.uri === uri ? [resource.mcpServer] : []));
      const shown = rules && [...new Set(all.map((resource) => resource.mcpServer))];
      const chosen = servers.choose(mcpServer, owners, shown);
      if ("problem" in chosen) return textResult(chosen.problem, true);
      const { server } = chosen;
      const wanted = { server, uri };
      const sent = (await rules?.check(wanted)) ?? wanted;
      try {
        const contents = await access.read(server, sent.uri, accessOf(callOptions));
        return await present(contents, { server, uri });
      } catch (error) {
        if (!(error instanceof CatalogError) || error.code !== "RESOURCE_NOT_FOUND") throw error;
        const ofServer = all.filter((resource) => resource.mcpServer === server);
        return textResult(notThere(server, uri, { ofServer, listName }), true);
      }
    },
  });
}

function notThere(
  server: string,
  uri: string,
  { ofServer, listName }: { ofServer: readonly ListedResource[]; listName: string },
): string {
  const what = `The server ${server} has no resource ${uri}.`;
  if (ofServer.some(({ uriTemplate }) => uriTemplate === uri))
    return `${what} It is a template: replace the names in braces.`;
  const close = suggest(
    uri,
    ofServer.flatMap((resource) => resource.uri ?? []),
  );
  return close.length > 0
    ? `${what} Did you mean ${close.join(" or ")}?`
    : `${what} Call ${listName} for the available ones.`;
}

const presentContents = (contents: readonly ResourceContents[]): string =>
  JSON.stringify(
    contents.map(({ uri, mimeType = null, text, blob }) => ({
      uri,
      mimeType,
      ...(text === undefined && blob !== undefined ? { blob } : { text: text ?? "" }),
    })),
  );

export const waitOf = ({ signal, timeoutMs }: CallToolOptions): WaitOptions => ({ signal, timeoutMs });

/** The options of the call that also apply to reading. */
export const accessOf = ({ signal, timeoutMs, context }: CallToolOptions): ReadResourceOptions => ({
  signal,
  timeoutMs,
  context,
});
