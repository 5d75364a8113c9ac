/** Converts tools to the format of OpenAI's APIs: plain JSON for `tools` of a request. */
import type { Toolport } from "../../toolport.js";
import { type OfferedTool, type OnSchemaChange, offeredTools, type ToolSelection } from "../offered-tools.js";
import type { OpenAIApi } from "./content.js";

/** A tool of the chat API. */
export interface OpenAIChatTool {
  type: "function";
  function: {
    name: string;
    description?: string;
    parameters: Record<string, unknown>;
    strict?: boolean;
  };
}

/** A tool of the responses API. */
export interface OpenAIResponsesTool {
  type: "function";
  name: string;
  description?: string;
  parameters: Record<string, unknown>;
  strict: boolean;
}

export interface OpenAIToolsOptions extends ToolSelection {
  /** Which API the tools are for. @default "chat" */
  readonly api?: OpenAIApi | undefined;
  /**
   * Strict mode: the model follows the schemas exactly. A tool whose schema strict mode cannot express is sent without it, and
   * reported to `onChange`.
   * @default false
   */
  readonly strict?: boolean | undefined;
  /** Called for every schema that had to be changed. */
  readonly onChange?: OnSchemaChange | undefined;
}

/**
 * Returns the tools for a request to OpenAI.
 *
 * @example
 * ```ts
 * const tools = await toOpenAITools(toolport);
 * const completion = await openai.chat.completions.create({ model, messages, tools });
 * messages.push(completion.choices[0].message);
 * messages.push(...(await runOpenAIToolCalls(toolport, completion.choices[0].message)));
 * ```
 */
export function toOpenAITools(
  toolport: Toolport,
  options: OpenAIToolsOptions & { api: "responses" },
): Promise<OpenAIResponsesTool[]>;
export function toOpenAITools(
  toolport: Toolport,
  options?: OpenAIToolsOptions & { api?: "chat" },
): Promise<OpenAIChatTool[]>;
export async function toOpenAITools(
  toolport: Toolport,
  { api = "chat", strict = false, onChange, ...selection }: OpenAIToolsOptions = {},
): Promise<OpenAIChatTool[] | OpenAIResponsesTool[]> {
  const target = strict ? "openai-strict" : "openai";
  const offered = await offeredTools(toolport, selection, { target, onChange });
  return api === "chat" ? offered.map(toChatTool) : offered.map(toResponsesTool);
}

function toChatTool({ tool, derived }: OfferedTool): OpenAIChatTool {
  const { name, description } = tool;
  return {
    type: "function",
    function: {
      name,
      ...(description !== undefined && { description }),
      parameters: derived.schema,
      ...(derived.strict && { strict: true }),
    },
  };
}

/** In this API strict mode is the default, so it must be disabled explicitly. */
function toResponsesTool({ tool, derived }: OfferedTool): OpenAIResponsesTool {
  const { name, description } = tool;
  return {
    type: "function",
    name,
    ...(description !== undefined && { description }),
    parameters: derived.schema,
    strict: derived.strict,
  };
}
