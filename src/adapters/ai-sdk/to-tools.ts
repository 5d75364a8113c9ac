/** Converts tools to a `ToolSet` of the AI SDK, for versions 5, 6 and 7. */

import type { Schema, ToolSet } from "ai";
import { CatalogError } from "../../errors/catalog-error.js";
import { isSuspended, type Suspended } from "../../execution/suspend/suspension.js";
import type { ToolInfo } from "../../model/tool-info.js";
import { isObject } from "../../schema/json-schema.js";
import { setKey } from "../../schema/json-value.js";
import type { Toolport } from "../../toolport.js";
import { type OfferedTool, offeredTools, targetOf, withSourceSchema } from "../offered-tools.js";
import { modelOutputOptions, toModelOutput, versionOf } from "./content.js";
import {
  boundApprovals,
  boundCall,
  createExecute,
  type ExecutionOptions,
  type ToolParts,
  type ToolSetParts,
  toCall,
} from "./execute-tool.js";
import { loadAi } from "./load-ai.js";
import { toSuspendedOutput } from "./suspended-output.js";
import { type AiSdkToolSchemas, resultSchema, type TypedAiSdkTools } from "./tool-schemas.js";
import { type AiSdkToolsOptions, checkOptions } from "./tools-options.js";

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
  options: AiSdkToolsOptions & { schemas: Schemas; suspend?: false | undefined },
): Promise<TypedAiSdkTools<Schemas>>;
export function toAiSdkTools<const Schemas extends AiSdkToolSchemas>(
  toolport: Toolport,
  options: AiSdkToolsOptions & { schemas: Schemas },
): Promise<TypedAiSdkTools<Schemas, Suspended>>;
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

/** The synchronous part. */
export function buildToolSet(offered: readonly OfferedTool[], parts: ToolSetParts): ToolSet {
  const { ai, options } = parts;
  const version = versionOf(ai);
  checkOptions(options, version);
  const format = modelOutputOptions(options, version);
  // Version 5 passes the output itself, later versions wrap it. Shared by all tools: there may be thousands.
  const forModel = (given: never) => {
    const output = version === 5 ? given : (given as { output: never }).output;
    return isSuspended(output) ? toSuspendedOutput(output) : toModelOutput(output, format);
  };
  const tools: Record<string, unknown> = {};
  const schemaOf = listedSchemas(ai);
  const approvals = options.needsApproval === "toolport" ? boundApprovals(offered, parts) : undefined;
  for (const each of offered) {
    const tool = toTool(each, { ...parts, approvals }, schemaOf);
    tool["toModelOutput"] = forModel;
    setKey(tools, each.tool.name, tool);
  }
  return tools as ToolSet;
}

function toTool(
  offered: OfferedTool,
  parts: ToolParts,
  schemaOf: ReturnType<typeof listedSchemas>,
): Record<string, unknown> {
  const { tool } = offered;
  const { options, schemas, approvals } = parts;
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
  if (approvals !== undefined) {
    made["needsApproval"] = (input: unknown, execution: ExecutionOptions) =>
      approvals.isNeeded(toCall(execution), boundCall(offered, parts, { input, execution }));
  } else if (options.needsApproval && options.needsApproval !== "toolport") {
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
  rule: Exclude<NonNullable<AiSdkToolsOptions["needsApproval"]>, "toolport">,
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
