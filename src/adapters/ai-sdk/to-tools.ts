/** Converts tools to a `ToolSet` of the AI SDK, for versions 5, 6 and 7. */

import type { Schema, ToolSet } from "ai";
import { CatalogError } from "../../errors/catalog-error.js";
import { ConfigError } from "../../errors/config-error.js";
import { ToolCallError } from "../../errors/tool-call-error.js";
import type { CallToolOptions } from "../../execution/tool-call.js";
import type { ToolResult } from "../../execution/tool-result.js";
import type { ToolInfo } from "../../model/tool-info.js";
import type { SchemaTarget } from "../../schema/derive/derived-schema.js";
import { isObject } from "../../schema/json-schema.js";
import { setKey } from "../../schema/json-value.js";
import type { Toolport } from "../../toolport.js";
import { type ContentOptions, isLeftOutWatched } from "../content-options.js";
import {
  type OfferedTool,
  type OnSchemaChange,
  offeredTools,
  type SchemaFormOptions,
  type ToolSelection,
  targetOf,
  withSourceSchema,
} from "../offered-tools.js";
import { TOOL_CALL_ID_META_KEY } from "../run-calls.js";
import { modelOutputOptions, PROVIDER_NAME, toModelOutput, versionOf } from "./content.js";
import { loadAi } from "./load-ai.js";
import { progressResults } from "./progress-results.js";
import {
  type AiSdkSchema,
  type AiSdkToolSchemas,
  resultSchema,
  type TypedAiSdkTools,
} from "./tool-schemas.js";

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
   * Which calls a person must approve first (`ai` 6 and later): those of destructive tools
   * (`"destructive"`) or of tools that are not read-only (`"writes"`), according to their annotations; all (`true`); or
   * those that you choose. Annotations come from the server: do not rely on them for servers you do not trust.
   * @default none
   */
  readonly needsApproval?:
    | boolean
    | "destructive"
    | "writes"
    | ((tool: ToolInfo, input: unknown) => boolean | Promise<boolean>)
    | undefined;
  /** Return progress notifications as preliminary results. @default false */
  readonly progress?: boolean | undefined;
  /** Images, audio and files of a result: sent to the model, or replaced by a note. @default "content" */
  readonly media?: "content" | "note" | undefined;
}

/**
 * Returns all tools as a `ToolSet`, under the unique names of `toolport.tools()`. With `schemas`, only the
 * tools that have one, with its types.
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

/** The synchronous part. */
export function buildToolSet(offered: readonly OfferedTool[], parts: ToolSetParts): ToolSet {
  const { ai, options } = parts;
  const version = versionOf(ai);
  if (version === 5 && options.needsApproval) throw noApproval();
  const output = modelOutputOptions(options, version);
  // Version 5 passes the output itself, later versions wrap it. Shared by all tools: there may be thousands.
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
  // Without a schema from the caller, the types of the tool are unknown at compile time.
  if (given === undefined) made["type"] = "dynamic";
  if (description !== undefined) made["description"] = description;
  if (title !== undefined) made["title"] = title;
  made["metadata"] = withSourceSchema({ server, tool: sourceName }, tool);
  made["inputSchema"] = given?.inputSchema ?? schemaOf(() => offered.derived.schema);
  if (outputSchema !== undefined) made["outputSchema"] = schemaOf(() => resultSchema(outputSchema));
  if (options.needsApproval) {
    // The caller's rule uses the server's names, not the names that the model sees.
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
  // Missing annotations have the worst-case default of the specification.
  return readOnlyHint !== true && (rule === "writes" || destructiveHint !== false);
}

function find(name: string, offered: readonly OfferedTool[]): OfferedTool {
  const found = offered.find(({ tool }) => tool.name === name);
  if (found !== undefined) return found;
  throw new CatalogError({
    code: "TOOL_NOT_FOUND",
    tool: name,
    what: `A schema was given for ${JSON.stringify(name)}, but there is no tool with that name`,
    next: "See tools() for the available tools",
  });
}

const noApproval = (): ConfigError =>
  new ConfigError({
    code: "INVALID_CONFIG",
    what: "This version of the package `ai` does not support approval of tool calls and would run them all",
    next: "Install ai 6 or later, or use the option `approve` of createToolport",
  });

/** Options of an execution in every version; `context` since 7, `experimental_context` before. */
interface ExecutionOptions {
  readonly toolCallId: string;
  readonly abortSignal?: AbortSignal | undefined;
  readonly experimental_context?: unknown;
  readonly context?: unknown;
}

/** Throws if the call fails; the AI SDK reports that to the model. A result with `isError` is returned like any other. */
function createExecute(offered: OfferedTool, parts: ToolSetParts) {
  return (input: unknown, execution: ExecutionOptions) => {
    const { options } = parts;
    const call = callOptions(options, execution);
    const signal = execution.abortSignal;
    const run = (more: CallToolOptions) => callTool(offered, parts, { input, call: { ...call, ...more } });
    if (options.progress !== true) return run(signal === undefined ? {} : { signal });
    return progressResults({
      server: offered.tool.server,
      signal,
      run: (onProgress, stop) => run({ onProgress, signal: stop }),
    });
  };
}

async function callTool(
  offered: OfferedTool,
  { toolport, ai, options, schemas }: ToolSetParts,
  { input, call }: { input: unknown; call: CallToolOptions },
): Promise<ToolResult> {
  const { tool } = offered;
  const given = schemas?.[tool.name];
  const sent = (input ?? {}) as Record<string, unknown>;
  const args = given === undefined ? offered.derived.unwrap(sent) : sent;
  const result = await toolport.callTool(tool.name, args, call);
  // Report left-out content once, here: the AI SDK converts the output again in every step.
  if (isLeftOutWatched(options))
    toModelOutput(result, modelOutputOptions(options, versionOf(ai)), {
      provider: PROVIDER_NAME,
      strict: options.strictContent === true,
      server: result.server,
      tool: tool.sourceName,
      onLeftOut: options.onLeftOut,
    });
  return given?.outputSchema === undefined ? result : checked(result, given.outputSchema, ai);
}

function callOptions(options: AiSdkToolsOptions, execution: ExecutionOptions): CallToolOptions {
  const { timeoutMs, idempotent, headers, applyDefaults, checkArguments, added } = options;
  const meta = { [TOOL_CALL_ID_META_KEY]: execution.toolCallId, ...options.meta };
  const context = options.context ?? execution.context ?? execution.experimental_context;
  const given = { timeoutMs, idempotent, headers, applyDefaults, checkArguments, added, meta, context };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

/** The output schema does not apply to results with `isError`. */
async function checked(result: ToolResult, schema: AiSdkSchema, ai: ToolSetParts["ai"]): Promise<ToolResult> {
  if (result.isError) return result;
  const verdict = await ai.asSchema(schema).validate?.(result.structuredContent);
  if (verdict === undefined) return result;
  if (verdict.success) return { ...result, structuredContent: verdict.value };
  throw new ToolCallError({
    code: "INVALID_OUTPUT",
    server: result.server,
    what: "The structured content of the result does not match the schema given for it",
    next: "See `result` and `cause` of this error",
    result,
    cause: verdict.error,
  });
}

type Ai = typeof import("ai");
type JsonSchemaText = Record<string, unknown>;

/**
 * Like `ai.jsonSchema(make)`, for thousands of tools and for version 5, which does not accept a function: an object of `ai.jsonSchema` has its own
 * getter, so each one costs a hidden class. Here all objects share one getter, and have an object of the AI SDK as prototype.
 */
function listedSchemas(ai: Ai): (make: () => JsonSchemaText) => Schema {
  class ListedSchema {
    #make: () => JsonSchemaText;
    #made: JsonSchemaText | undefined;

    constructor(make: () => JsonSchemaText) {
      this.#make = make;
    }

    get jsonSchema(): JsonSchemaText {
      this.#made ??= this.#make();
      return this.#made;
    }
  }
  Object.setPrototypeOf(ListedSchema.prototype, ai.jsonSchema({}));
  return (make) => new ListedSchema(make) as unknown as Schema;
}
