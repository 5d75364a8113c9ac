/** Offers resources to models as two tools: one lists them, one reads them. */

import {
  CatalogError,
  didYouMean,
  type ResourceContents,
  type ResourceInfo,
  type ResourceTemplateInfo,
  suggest,
} from "@toolport/base";
import type { PortCore } from "../port-core.js";
import { readResource } from "../resources/read-resource.js";
import {
  cleanText,
  ExposedServers,
  type ListedResource,
  type OwnToolFamily,
  type OwnToolItem,
  type ResourceAccess,
  type ResourcesAsToolsOption,
  type ResourceToolsOptions,
  type ServedTool,
  shownOnly,
  textResult,
} from "./own-tools.js";

const LIST_NAME = "list_resources";
const READ_NAME = "read_resource";
/** The name in LangChain4j. */
const READ_ALIAS = "get_resource";

export function createResourceTools(
  port: PortCore,
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

function listed({ catalog }: PortCore, servers: ExposedServers): ListedResource[] {
  const infos: (Partial<ResourceInfo> & Partial<ResourceTemplateInfo> & { server: string })[] = [
    ...catalog.resources(),
    ...catalog.resourceTemplates(),
  ];
  return (
    infos
      // Interfaces are rendered by a host and are of no use to a model.
      .filter(({ server, isUi }) => servers.has(server) && isUi !== true)
      .map(({ server, uri, uriTemplate, name, description, mimeType }) => ({
        mcpServer: server,
        uri: uri ?? null,
        uriTemplate: uriTemplate ?? null,
        name: cleanText(name),
        description: cleanText(description),
        mimeType: cleanText(mimeType),
      }))
  );
}

function listTool(access: ResourceAccess, { list = {} }: ResourceToolsOptions): ServedTool {
  const { name = LIST_NAME, present = JSON.stringify } = list;
  const description =
    list.description ??
    "Lists all resources of all connected servers: documents and data that can be read. Returns a JSON array; " +
      "a resource is identified by mcpServer and uri together. Where uri is null, fill in the variables of uriTemplate.";
  return {
    isRuled: true,
    name,
    description,
    inputSchema: Object.freeze({ type: "object", properties: {}, additionalProperties: false }),
    call: async (_args, options, rules) =>
      present(await shownOnly(rules, await access.list(options), itemOf)),
  };
}

const itemOf = ({ mcpServer: server, uri, uriTemplate }: ListedResource): OwnToolItem =>
  uri === null ? { server, uri: uriTemplate ?? "", isTemplate: true } : { server, uri };

function readTool(
  port: PortCore,
  {
    access,
    servers,
    options,
  }: { access: ResourceAccess; servers: ExposedServers; options: ResourceToolsOptions },
): ServedTool {
  const { read = {}, list = {} } = options;
  const { name = READ_NAME, present = presentContents } = read;
  const listName = list.name ?? LIST_NAME;
  return {
    isRuled: true,
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
    async call({ mcpServer, uri }, callOptions, rules) {
      if (typeof uri !== "string" || uri === "")
        return textResult("uri must be the address of a resource", true);
      await port.bringUp(port.pool.all(), callOptions);
      const all = await shownOnly(rules, listed(port, servers), itemOf);
      const owners = all.flatMap((resource) => (resource.uri === uri ? [resource.mcpServer] : []));
      const shown = rules && [...new Set(all.map((resource) => resource.mcpServer))];
      const chosen = servers.choose(mcpServer, owners, shown);
      if ("problem" in chosen) return textResult(chosen.problem, true);
      const { server } = chosen;
      const wanted = { server, uri };
      const sent = (await rules?.check(wanted)) ?? wanted;
      try {
        const contents = await access.read(server, sent.uri, callOptions);
        return await present(contents, { server, uri });
      } catch (error) {
        if (!(error instanceof CatalogError) || error.code !== "RESOURCE_NOT_FOUND") throw error;
        const ofServer = all.filter((resource) => resource.mcpServer === server);
        return textResult(notThere(server, uri, { ofServer, listName }), true);
      }
    },
  };
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
  return `${what} ${didYouMean(close, `Call ${listName} for the available ones.`)}`;
}

const presentContents = (contents: readonly ResourceContents[]): string =>
  JSON.stringify(
    contents.map(({ uri, mimeType = null, text, blob }) => ({
      uri,
      mimeType,
      ...(text === undefined && blob !== undefined ? { blob } : { text: text ?? "" }),
    })),
  );
