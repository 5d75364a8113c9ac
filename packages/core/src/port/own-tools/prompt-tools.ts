/** Offers prompts to models as two tools: one lists them, one renders them. */
import { CatalogError, didYouMean, ToolCallError } from "@toolport/base";
import { getPrompt } from "../get-prompt.js";
import type { PortCore } from "../port-core.js";
import {
  cleanText,
  ExposedServers,
  type ItemRules,
  type OwnToolFamily,
  type PromptsAsToolsOption,
  type PromptToolsOptions,
  type ServedTool,
  shownOnly,
  textResult,
} from "./own-tools.js";

const LIST_NAME = "list_prompts";
const GET_NAME = "get_prompt";

export function createPromptTools(
  port: PortCore,
  option: Exclude<PromptsAsToolsOption, false>,
): OwnToolFamily {
  const options = option === true ? {} : option;
  const servers = new ExposedServers(port.pool, options.servers);
  return {
    option: "promptsAsTools",
    tools: [listTool(port, servers, options), getTool(port, servers, options)],
    isCoveredBy: (chosen) => servers.isCoveredBy(chosen),
  };
}

function listTool(port: PortCore, servers: ExposedServers, { list = {} }: PromptToolsOptions): ServedTool {
  return {
    isRuled: true,
    name: list.name ?? LIST_NAME,
    description:
      list.description ??
      "Lists all prompts of all connected servers: prepared instructions for a task. Returns a JSON array; a prompt is " +
        "identified by mcpServer and name together.",
    inputSchema: Object.freeze({ type: "object", properties: {}, additionalProperties: false }),
    async call(_args, options, rules) {
      await port.bringUp(port.pool.all(), options);
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
const promptsOf = ({ catalog }: PortCore, servers: ExposedServers, rules: ItemRules | undefined) =>
  shownOnly(
    rules,
    catalog.prompts().filter(({ server }) => servers.has(server)),
    ({ server, name }) => ({ server, prompt: name }),
  );

function getTool(
  port: PortCore,
  servers: ExposedServers,
  { list = {}, get = {} }: PromptToolsOptions,
): ServedTool {
  const listName = list.name ?? LIST_NAME;
  return {
    isRuled: true,
    name: get.name ?? GET_NAME,
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
      await port.bringUp(port.pool.all(), options);
      const known = await promptsOf(port, servers, rules);
      const owners = known.flatMap((prompt) => (prompt.name === name ? [prompt.server] : []));
      const shown = rules && [...new Set(known.map((prompt) => prompt.server))];
      const chosen = servers.choose(mcpServer, owners, shown);
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
