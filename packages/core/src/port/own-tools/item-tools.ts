/** Offers resources and prompts to models as two tools each: one lists them, one reads them. */

import {
  CatalogError,
  didYouMean,
  type ResourceContents,
  type ResourceInfo,
  type ResourceTemplateInfo,
  sanitiseText,
  suggest,
  ToolCallError,
} from "@toolport/base";
import { getPrompt } from "../get-prompt.js";
import type { PortCore } from "../port-core.js";
import { readResource } from "../resources/read-resource.js";
import {
  type ItemRules,
  type ListedResource,
  type OwnToolFamily,
  type OwnToolItem,
  type PromptsAsToolsOption,
  type PromptToolsOptions,
  type ResourceAccess,
  type ResourcesAsToolsOption,
  type ResourceToolsOptions,
  type ServedTool,
  textResult,
} from "./own-tools.js";

const LIST_RESOURCES = "list_resources";
const READ_RESOURCE = "read_resource";
/** The name in LangChain4j. */
const READ_ALIAS = "get_resource";
const LIST_PROMPTS = "list_prompts";
const GET_PROMPT = "get_prompt";

/** The names of the servers whose data are offered. */
type ServerNames = OwnToolFamily["servers"];

const exposedServers =
  ({ pool }: PortCore, only: readonly string[] | undefined): ServerNames =>
  () =>
    pool.names.filter((name) => only?.includes(name) ?? true);

/** A text of a server without hidden characters; null if there is none. */
const cleanText = (value: unknown): string | null =>
  typeof value === "string" ? sanitiseText(value).text : null;

/** Those of the entries that the rules show. */
async function shownOnly<Entry>(
  rules: ItemRules | undefined,
  entries: readonly Entry[],
  itemOf: (entry: Entry) => OwnToolItem,
): Promise<readonly Entry[]> {
  if (rules === undefined || entries.length === 0) return entries;
  const areShown = await rules.areShown(entries.map(itemOf));
  return entries.filter((_, index) => areShown[index]);
}

/**
 * The server that the model names, or a message for the model. If the name is missing and only one server has the item, it is that one.
 *
 * @param items those that the caller may see
 */
function chooseServer(
  given: unknown,
  id: string,
  items: readonly { server: string; id: string | null }[],
  { names, rules }: { names: readonly string[]; rules: ItemRules | undefined },
): { server: string } | { problem: string } {
  if (typeof given === "string" && names.includes(given)) return { server: given };
  const [only, ...others] = new Set(items.flatMap((item) => (item.id === id ? [item.server] : [])));
  const isMissing = given === undefined || given === null || given === "";
  if (isMissing && only !== undefined && others.length === 0) return { server: only };
  const shown = rules === undefined ? names : [...new Set(items.map(({ server }) => server))];
  const close = typeof given === "string" ? suggest(given, shown) : [];
  const hint = didYouMean(close, `Use one of: ${shown.join(", ")}.`);
  const what = isMissing ? "mcpServer is missing" : `There is no server named ${JSON.stringify(given)}`;
  return { problem: `${what}. ${hint}` };
}

export function createResourceTools(
  port: PortCore,
  option: Exclude<ResourcesAsToolsOption, false>,
): OwnToolFamily {
  const options = typeof option === "object" ? option : {};
  const servers = exposedServers(port, options.servers);
  const access: ResourceAccess = {
    async list(wait = {}) {
      await port.ensureLists(
        port.pool.all().filter(({ name }) => servers().includes(name)),
        wait,
      );
      return listed(port, servers);
    },
    read: (server, uri, read = {}) => readResource(port, { server, resource: uri }, read),
  };
  const tools =
    typeof option === "function"
      ? option(access)
      : [listResources(access, options), readResources(port, servers, access, options)];
  return { option: "resourcesAsTools", tools, servers };
}

function listed({ catalog }: PortCore, servers: ServerNames): ListedResource[] {
  const names = servers();
  const infos: (Partial<ResourceInfo> & Partial<ResourceTemplateInfo> & { server: string })[] = [
    ...catalog.resources(),
    ...catalog.resourceTemplates(),
  ];
  return (
    infos
      // Interfaces are rendered by a host and are of no use to a model.
      .filter(({ server, isUi }) => names.includes(server) && isUi !== true)
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

function listResources(access: ResourceAccess, { list = {} }: ResourceToolsOptions): ServedTool {
  const { name = LIST_RESOURCES, present = JSON.stringify } = list;
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

function readResources(
  port: PortCore,
  servers: ServerNames,
  access: ResourceAccess,
  { read = {}, list = {} }: ResourceToolsOptions,
): ServedTool {
  const { name = READ_RESOURCE, present = presentContents } = read;
  const listName = list.name ?? LIST_RESOURCES;
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
      await port.ensureLists(port.pool.all(), callOptions);
      const all = await shownOnly(rules, listed(port, servers), itemOf);
      const items = all.map((resource) => ({ server: resource.mcpServer, id: resource.uri }));
      const chosen = chooseServer(mcpServer, uri, items, { names: servers(), rules });
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
        const uris = ofServer.flatMap((resource) => resource.uri ?? []);
        const isTemplate = ofServer.some(({ uriTemplate }) => uriTemplate === uri);
        const hint = isTemplate
          ? "It is a template: replace the names in braces."
          : didYouMean(suggest(uri, uris), `Call ${listName} for the available ones.`);
        return textResult(`The server ${server} has no resource ${uri}. ${hint}`, true);
      }
    },
  };
}

const presentContents = (contents: readonly ResourceContents[]): string =>
  JSON.stringify(
    contents.map(({ uri, mimeType = null, text, blob }) => ({
      uri,
      mimeType,
      ...(text === undefined && blob !== undefined ? { blob } : { text: text ?? "" }),
    })),
  );

export function createPromptTools(
  port: PortCore,
  option: Exclude<PromptsAsToolsOption, false>,
): OwnToolFamily {
  const options = option === true ? {} : option;
  const servers = exposedServers(port, options.servers);
  return {
    option: "promptsAsTools",
    tools: [listPrompts(port, servers, options), renderPrompts(port, servers, options)],
    servers,
  };
}

function listPrompts(port: PortCore, servers: ServerNames, { list = {} }: PromptToolsOptions): ServedTool {
  return {
    isRuled: true,
    name: list.name ?? LIST_PROMPTS,
    description:
      list.description ??
      "Lists all prompts of all connected servers: prepared instructions for a task. Returns a JSON array; a prompt is " +
        "identified by mcpServer and name together.",
    inputSchema: Object.freeze({ type: "object", properties: {}, additionalProperties: false }),
    async call(_args, options, rules) {
      await port.ensureLists(port.pool.all(), options);
      const known = await promptsOf(port, servers, rules);
      return JSON.stringify(
        known.map(({ server, name, description, arguments: args = [] }) => ({
          mcpServer: server,
          name,
          description: cleanText(description),
          arguments: args.map((argument) => ({
            name: argument.name,
            description: cleanText(argument.description),
            required: argument.required === true,
          })),
        })),
      );
    },
  };
}

/** The prompts that the caller may see. */
function promptsOf({ catalog }: PortCore, servers: ServerNames, rules: ItemRules | undefined) {
  const names = servers();
  const prompts = catalog.prompts().filter(({ server }) => names.includes(server));
  return shownOnly(rules, prompts, ({ server, name }) => ({ server, prompt: name }));
}

function renderPrompts(
  port: PortCore,
  servers: ServerNames,
  { list = {}, get = {} }: PromptToolsOptions,
): ServedTool {
  const listName = list.name ?? LIST_PROMPTS;
  return {
    isRuled: true,
    name: get.name ?? GET_PROMPT,
    description:
      get.description ??
      `Renders a prompt that ${listName} names. Returns a JSON array of messages, each with a role and content.`,
    inputSchema: Object.freeze({
      type: "object",
      properties: {
        mcpServer: { type: "string", description: `The mcpServer, as ${listName} gave it` },
        name: { type: "string", description: `The name, as ${listName} gave it` },
        arguments: {
          type: "object",
          description: "A text for each of its arguments, by name",
          additionalProperties: { type: "string" },
        },
      },
      required: ["mcpServer", "name"],
      additionalProperties: false,
    }),
    async call({ mcpServer, name, arguments: given }, options, rules) {
      if (typeof name !== "string" || name === "")
        return textResult("name must be the name of a prompt", true);
      await port.ensureLists(port.pool.all(), options);
      const known = await promptsOf(port, servers, rules);
      const items = known.map((prompt) => ({ server: prompt.server, id: prompt.name }));
      const chosen = chooseServer(mcpServer, name, items, { names: servers(), rules });
      if ("problem" in chosen) return textResult(chosen.problem, true);
      const { server } = chosen;
      const args = readTexts(given);
      await rules?.check({ server, prompt: name, args });
      try {
        const { messages } = await getPrompt(port, { server, name, args }, options);
        return JSON.stringify(messages);
      } catch (error) {
        if (error instanceof ToolCallError && error.code === "INVALID_ARGUMENTS")
          return textResult(`${error.what}.`, true);
        if (!(error instanceof CatalogError) || error.code !== "PROMPT_NOT_FOUND") throw error;
        const suggestions = error.suggestions.filter((each) => known.some((prompt) => prompt.name === each));
        const hint = didYouMean(suggestions, `Call ${listName} for the available ones.`);
        return textResult(`The server ${server} has no prompt ${JSON.stringify(name)}. ${hint}`, true);
      }
    },
  };
}

/** Arguments of prompts are strings, but models may pass other values. */
function readTexts(given: unknown): Record<string, string> {
  if (typeof given !== "object" || given === null) return {};
  return Object.fromEntries(
    Object.entries(given).map(([name, value]) => [
      name,
      typeof value === "string" ? value : (JSON.stringify(value) ?? ""),
    ]),
  );
}
