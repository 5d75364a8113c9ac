/** Converts tools to a `ToolSet` of the AI SDK, for versions 5, 6 and 7. */

import { CatalogError, definedFields, isRecord, type ToolInfo } from "@toolport/base";
import type { Suspended } from "@toolport/core";
import { SEARCH_TOOLS_NAME } from "@toolport/core/internal";
import { type OfferedTool, setKey, targetOf, withSourceSchema } from "@toolport/schemas/internal";
import type { Schema, ToolSet } from "ai";
import { hasReader } from "../for-model.js";
import {
  checkDeferred,
  type DeferredOffer,
  type DeferredOptions,
  type OfferOptions,
  offerTools,
} from "../offered-tools.js";
import type { ToolSource } from "../tool-source.js";
import { loadAi, versionOf } from "./content.js";
import { createDeferral, type Deferral } from "./deferred-tools.js";
import {
  BoundApprovals,
  boundCall,
  createExecute,
  createModelOutputs,
  type ExecutionOptions,
  type ToolParts,
  type ToolSetParts,
  toCall,
} from "./execute-tool.js";
import {
  AI_SDK_DEFERRED,
  type AiSdkToolSchemas,
  type AiSdkToolsOptions,
  checkOptions,
  resultSchema,
  type TypedAiSdkTools,
} from "./tools-options.js";

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
  toolport: ToolSource,
  options: AiSdkToolsOptions & { schemas: Schemas; suspend?: false | undefined },
): Promise<TypedAiSdkTools<Schemas>>;
export function toAiSdkTools<const Schemas extends AiSdkToolSchemas>(
  toolport: ToolSource,
  options: AiSdkToolsOptions & { schemas: Schemas },
): Promise<TypedAiSdkTools<Schemas, Suspended>>;
export function toAiSdkTools(toolport: ToolSource, options?: AiSdkToolsOptions): Promise<ToolSet>;
export async function toAiSdkTools(
  toolport: ToolSource,
  options: AiSdkToolsOptions & { schemas?: AiSdkToolSchemas } = {},
): Promise<ToolSet> {
  const { schemas } = options;
  const [ai, offer] = await Promise.all([
    loadAi().then((loaded) => {
      checkOptions(options, versionOf(loaded));
      return loaded;
    }),
    listOffer(toolport, options),
  ]);
  const offered = [...offer.shown, ...offer.hidden];
  const chosen = schemas === undefined ? offered : Object.keys(schemas).map((name) => find(name, offered));
  const isChosen = ({ tool }: OfferedTool) => schemas === undefined || schemas[tool.name] !== undefined;
  const parts = { toolport, ai, options, schemas };
  const deferral = await createDeferral({ ...offer, hidden: offer.hidden.filter(isChosen) }, parts);
  return buildToolSet(chosen, { ...parts, deferral });
}

async function listOffer(
  toolport: ToolSource,
  options: AiSdkToolsOptions & { schemas?: AiSdkToolSchemas },
): Promise<DeferredOffer> {
  const { deferred = "own", schemas, schema } = options;
  checkDeferred(deferred, AI_SDK_DEFERRED);
  const offer: OfferOptions & DeferredOptions = {
    ...options,
    // The search of the AI SDK also runs in this process.
    deferred: deferred === "sdk" ? "client" : deferred,
    // With schemas the caller names every tool.
    ...(schemas !== undefined && { onChange: undefined, forModel: false as const }),
  };
  return offerTools(toolport, offer, targetOf(schema));
}

/** The synchronous part. */
export function buildToolSet(
  offered: readonly OfferedTool[],
  parts: ToolSetParts & { readonly deferral?: Deferral | undefined },
): ToolSet {
  const { options, deferral } = parts;
  const outputOf = createModelOutputs(parts, hasReader(offered.map(({ tool }) => tool)));
  const tools: Record<string, unknown> = {};
  const approvals = options.needsApproval === "toolport" ? new BoundApprovals(offered, parts) : undefined;
  if (deferral?.search !== undefined) setKey(tools, SEARCH_TOOLS_NAME, deferral.search);
  for (const each of offered) {
    const tool = toTool(each, { ...parts, approvals });
    tool["toModelOutput"] = outputOf(each.tool.name);
    if (deferral !== undefined) Object.assign(tool, deferral.fieldsOf(each.tool));
    setKey(tools, each.tool.name, tool);
  }
  return tools as ToolSet;
}

function toTool(offered: OfferedTool, parts: ToolParts): Record<string, unknown> {
  const { tool, description } = offered;
  const { ai, options, schemas, approvals } = parts;
  const { name, title, outputSchema, server, sourceName } = tool;
  const own = schemas?.[name];
  const made: Record<string, unknown> = definedFields({
    // Without a schema from the caller, the types of the tool are unknown at compile time.
    type: own === undefined ? "dynamic" : undefined,
    description,
    title,
    metadata: withSourceSchema({ server, tool: sourceName }, tool),
    inputSchema: own?.inputSchema ?? lazySchema(ai, () => offered.derived.schema),
    outputSchema: outputSchema && lazySchema(ai, () => resultSchema(outputSchema)),
  });
  if (approvals !== undefined) {
    made["needsApproval"] = (input: unknown, execution: ExecutionOptions) =>
      approvals.isNeeded(toCall(execution), boundCall(offered, parts, { input, execution }));
  } else if (options.needsApproval && options.needsApproval !== "toolport") {
    // The caller's rule uses the server's names, not the names that the model sees.
    const read = (input: unknown) =>
      own === undefined && isRecord(input) ? offered.derived.unwrap(input) : input;
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
  const match = offered.find(({ tool }) => tool.name === name);
  if (match !== undefined) return match;
  throw new CatalogError({
    code: "TOOL_NOT_FOUND",
    tool: name,
    what: `A schema was given for ${JSON.stringify(name)}, but there is no tool with that name`,
    next: "See tools() for the available tools",
  });
}

/** Like `ai.jsonSchema(make)`, which calls `make` when the schema is read; version 5 does not accept a function. */
const lazySchema = (ai: typeof import("ai"), make: () => Record<string, unknown>): Schema => {
  let schema: Record<string, unknown> | undefined;
  return Object.defineProperty(ai.jsonSchema({}), "jsonSchema", { get: () => (schema ??= make()) });
};
