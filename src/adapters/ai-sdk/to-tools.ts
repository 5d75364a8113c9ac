/** Tools as a `ToolSet` of the AI SDK, for versions 5, 6 and 7. */

import type { ToolSet } from "ai";
import { CatalogError } from "../../errors/catalog-error.js";
import { ConfigError } from "../../errors/config-error.js";
import type { CallToolOptions } from "../../execution/tool-call.js";
import type { ToolInfo } from "../../model/tool-info.js";
import type { SchemaTarget } from "../../schema/derive/derived-schema.js";
import { setKey } from "../../schema/derive/set-key.js";
import { isObject } from "../../schema/json-schema.js";
import type { Toolport } from "../../toolport.js";
import type { ContentOptions } from "../content-options.js";
import {
  type OfferedTool,
  type OnSchemaChange,
  offeredTools,
  type SchemaFormOptions,
  type ToolSelection,
  targetOf,
  withSourceSchema,
} from "../offered-tools.js";
import { modelOutputOptions, toModelOutput, versionOf } from "./content.js";
import { createExecute } from "./execute.js";
import { listedSchemas } from "./listed-schema.js";
import { loadAi } from "./load-ai.js";
import { type AiSdkToolSchemas, resultSchema, type TypedAiSdkTools } from "./tool-schemas.js";

export interface AiSdkToolsOptions
  extends ToolSelection,
    SchemaFormOptions,
    ContentOptions,
    Omit<CallToolOptions, "signal" | "onProgress"> {
  /**
   * The older name of `schema`.
   * @deprecated Use `schema`.
   */
  readonly target?: SchemaTarget | undefined;
  /** Called for every schema that had to be changed. */
  readonly onChange?: OnSchemaChange | undefined;
  /**
   * Which calls a person must approve first (`ai` 6 and later): those of tools that may destroy something
   * (`"destructive"`), of tools that do not only read (`"writes"`), by what their servers say of them; all (`true`); or
   * those you choose. A server can say what it likes: do not rest on it for servers you do not trust.
   * @default none
   */
  readonly needsApproval?:
    | boolean
    | "destructive"
    | "writes"
    | ((tool: ToolInfo, input: unknown) => boolean | Promise<boolean>)
    | undefined;
  /** Give signs of progress as preliminary results. @default false */
  readonly progress?: boolean | undefined;
  /** Images, audio and files of an answer: handed to the model, or a note in their place. @default "content" */
  readonly media?: "content" | "note" | undefined;
}

/**
 * All tools as a `ToolSet`. Their names never clash: they are those of `toolport.tools()`. With `schemas`, only the
 * tools that have one, with the types of it.
 *
 * @example
 * ```ts
 * const { text } = await generateText({
 *   model,
 *   tools: await toAiSdkTools(toolport),
 *   stopWhen: stepCountIs(10),
 *   prompt: "What is the weather in Oslo?",
 * });
 * ```
 */
export function toAiSdkTools<const Schemas extends AiSdkToolSchemas>(
  toolport: Toolport,
  options: AiSdkToolsOptions & { schemas: Schemas },
): Promise<TypedAiSdkTools<Schemas>>;
export function toAiSdkTools(toolport: Toolport, options?: AiSdkToolsOptions): Promise<ToolSet>;
export async function toAiSdkTools(
  toolport: Toolport,
  options: AiSdkToolsOptions & { schemas?: AiSdkToolSchemas } = {},
): Promise<ToolSet> {
  const { onChange, schemas } = options;
  const target = targetOf(options.schema ?? options.target);
  const [ai, offered] = await Promise.all([
    loadAi(),
    offeredTools(toolport, options, { target, onChange: schemas === undefined ? onChange : undefined }),
  ]);
  const chosen = schemas === undefined ? offered : Object.keys(schemas).map((name) => find(name, offered));
  return buildToolSet(chosen, { toolport, ai, options, schemas });
}

export interface ToolSetParts {
  readonly toolport: Toolport;
  readonly ai: typeof import("ai");
  readonly options: AiSdkToolsOptions;
  readonly schemas?: AiSdkToolSchemas | undefined;
}

/** The part that waits for nothing. */
export function buildToolSet(offered: readonly OfferedTool[], parts: ToolSetParts): ToolSet {
  const { ai, options } = parts;
  const version = versionOf(ai);
  if (version === 5 && options.needsApproval) throw noApproval();
  const output = modelOutputOptions(options, version);
  // Version 5 hands over the output itself, the later ones wrap it. The same for all tools: there may be thousands.
  const forModel = (given: never) =>
    toModelOutput(version === 5 ? given : (given as { output: never }).output, output);
  const tools: Record<string, unknown> = {};
  const schemaOf = listedSchemas(ai);
  for (const each of offered) {
    const tool = toTool(each, parts, schemaOf);
    tool["toModelOutput"] = forModel;
    setKey(tools, each.tool.name, tool);
  }
  return tools as ToolSet;
}

function toTool(
  offered: OfferedTool,
  parts: ToolSetParts,
  schemaOf: ReturnType<typeof listedSchemas>,
): Record<string, unknown> {
  const { tool } = offered;
  const { options, schemas } = parts;
  const { name, description, title, outputSchema, server, sourceName } = tool;
  const given = schemas?.[name];
  const made: Record<string, unknown> = {};
  // Without a schema of the caller's nothing is known of the tool while the program is written.
  if (given === undefined) made["type"] = "dynamic";
  if (description !== undefined) made["description"] = description;
  if (title !== undefined) made["title"] = title;
  made["metadata"] = withSourceSchema({ server, tool: sourceName }, tool);
  made["inputSchema"] = given?.inputSchema ?? schemaOf(() => offered.derived.schema);
  if (outputSchema !== undefined) made["outputSchema"] = schemaOf(() => resultSchema(outputSchema));
  if (options.needsApproval) {
    // A rule of the caller's knows the server's names, not those that the model was given.
    const read = (input: unknown) =>
      given === undefined && isObject(input) ? offered.derived.unwrap(input) : input;
    made["needsApproval"] = approvalOf(tool, options.needsApproval, read);
  }
  made["execute"] = createExecute(offered, parts);
  return made;
}

function approvalOf(
  tool: ToolInfo,
  rule: NonNullable<AiSdkToolsOptions["needsApproval"]>,
  read: (input: unknown) => unknown,
) {
  const { readOnlyHint, destructiveHint } = tool.annotations ?? {};
  if (typeof rule === "function") return (input: unknown) => rule(tool, read(input));
  if (typeof rule === "boolean") return rule;
  // What is not said counts as the worst, as the protocol has it.
  return readOnlyHint !== true && (rule === "writes" || destructiveHint !== false);
}

function find(name: string, offered: readonly OfferedTool[]): OfferedTool {
  const found = offered.find(({ tool }) => tool.name === name);
  if (found !== undefined) return found;
  throw new CatalogError({
    code: "TOOL_NOT_FOUND",
    tool: name,
    what: `A schema was given for ${JSON.stringify(name)}, but there is no tool of that name`,
    next: "Look at tools() for what there is",
  });
}

const noApproval = (): ConfigError =>
  new ConfigError({
    code: "INVALID_CONFIG",
    what: "This version of the package `ai` knows no approval of tool calls and would run them all",
    next: "Install ai 6 or later, or use the option `approve` of createToolport",
  });
