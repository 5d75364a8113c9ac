/** Runs the calls that a model requested, in parallel. Every call gets a result; mistakes of the model are reported to the model. */

import type { ContentPart } from "../content/content-part.js";
import { CatalogError } from "../errors/catalog-error.js";
import { ToolportError } from "../errors/toolport-error.js";
import type { CallToolOptions } from "../execution/tool-call.js";
import type { ToolInfo } from "../model/tool-info.js";
import { isForModel } from "../model/tool-ui.js";
import type { SchemaTarget } from "../schema/derive/derived-schema.js";
import type { Toolport } from "../toolport.js";
import type { ContentOptions } from "./content-options.js";
import { derivedSchemaOf, lastTarget, type ToolSelection } from "./offered-tools.js";
import { resultParts, textPart } from "./result-parts.js";

/** Key in `_meta` with the id that the provider of the model gave to the call. */
export const TOOL_CALL_ID_META_KEY = "toolport/tool-call-id";

/** Options for running the calls of a model. The options that were used for the tools may be passed here too. */
export interface RunToolCallsOptions extends ToolSelection, ContentOptions, CallToolOptions {
  /**
   * Called for every call that could not be made; the model gets the error as well. An error thrown here ends the run, for
   * instance when a server requires authorization.
   */
  readonly onError?: ((error: ToolportError, call: RequestedCall) => void) | undefined;
  /**
   * Calls of tools that were not offered: `"answer"` reports an error to the model; `"skip"` ignores them, for programs that
   * also have their own tools and run those themselves.
   * @default "answer"
   */
  readonly unknownTools?: "answer" | "skip" | undefined;
}

/** A call that the model requested. */
export interface RequestedCall {
  readonly id: string | undefined;
  readonly name: string;
  /** An object, or JSON text of one. */
  readonly args: unknown;
}

export interface CallOutcome {
  readonly call: RequestedCall;
  readonly parts: readonly ContentPart[];
  readonly isError: boolean;
  readonly server?: string | undefined;
  readonly tool?: string | undefined;
}

/** Results are in the order of the calls. `targets`: the schema targets for which the tools may have been offered. Throws only on abort, and what `onError` throws. */
export async function runCalls(
  toolport: Toolport,
  calls: readonly RequestedCall[],
  { targets, ...options }: RunToolCallsOptions & { targets: readonly SchemaTarget[] },
): Promise<CallOutcome[]> {
  if (calls.length === 0) return [];
  const { servers, only, except, filter, signal } = options;
  const offered = await toolport.tools({
    ...(servers && { servers }),
    ...(signal && { signal }),
    only,
    except,
    filter,
  });
  const byName = new Map(offered.map((tool) => [tool.name, tool]));
  const isOpen = [servers, only, except, filter].every((rule) => rule === undefined);
  const wanted = options.unknownTools === "skip" ? calls.filter(({ name }) => byName.has(name)) : calls;
  const context: CallContext = { toolport, byName, isOpen, targets, options };
  // Wait for all calls before one failure ends the run, so that none continues in the background.
  const outcomes = await Promise.allSettled(wanted.map((call) => answerCall(call, context)));
  return outcomes.map((outcome) => {
    if (outcome.status === "rejected") throw outcome.reason;
    return outcome.value;
  });
}

interface CallContext {
  readonly toolport: Toolport;
  readonly byName: ReadonlyMap<string, ToolInfo>;
  /** All tools were offered, so a name that is not listed may come from a search. */
  readonly isOpen: boolean;
  readonly targets: readonly SchemaTarget[];
  readonly options: RunToolCallsOptions;
}

async function answerCall(call: RequestedCall, context: CallContext): Promise<CallOutcome> {
  const { toolport, byName, isOpen, targets, options } = context;
  const tool = byName.get(call.name);
  try {
    if (tool === undefined && !(isOpen && (await isCallable(toolport, call.name))))
      throw notOffered(call.name, [...byName.keys()]);
    const read = readArguments(call.args);
    if ("problem" in read) return { call, parts: [textPart(read.problem)], isError: true };
    const derived = tool && derivedSchemaOf(tool, lastTarget(tool, targets));
    const args = derived?.unwrap(read.args) ?? read.args;
    const result = await toolport.callTool(call.name, args, callOptions(options, call.id));
    const { server, isError } = result;
    const parts = resultParts(result, options.audience);
    return { call, parts, isError, server, tool: tool?.sourceName };
  } catch (error) {
    if (!ToolportError.isInstance(error)) throw error;
    options.onError?.(error, call);
    const { server, tool: name } = error;
    return { call, parts: [textPart(error.message)], isError: true, server, tool: name };
  }
}

/** A model must not call a tool that is only for user interfaces. */
async function isCallable(toolport: Toolport, name: string): Promise<boolean> {
  const known = (await toolport.tools({ all: true })).find((tool) => tool.name === name);
  return known === undefined || isForModel(known);
}

function callOptions(options: RunToolCallsOptions, id: string | undefined): CallToolOptions {
  const { signal, timeoutMs, onProgress, idempotent, headers, context, applyDefaults } = options;
  const { checkArguments, added } = options;
  const meta = id === undefined ? options.meta : { [TOOL_CALL_ID_META_KEY]: id, ...options.meta };
  const limits = { signal, timeoutMs, onProgress, idempotent, headers, meta, context };
  const given = { ...limits, applyDefaults, checkArguments, added };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

function readArguments(given: unknown): { args: Record<string, unknown> } | { problem: string } {
  let args: unknown = given ?? {};
  if (typeof args === "string") {
    try {
      args = args.trim() === "" ? {} : JSON.parse(args);
    } catch (error) {
      return { problem: `The arguments are not valid JSON: ${(error as Error).message}` };
    }
  }
  if (typeof args === "object" && args !== null && !Array.isArray(args))
    return { args: args as Record<string, unknown> };
  return { problem: "The arguments must be a JSON object" };
}

const notOffered = (name: string, offered: readonly string[]): CatalogError =>
  new CatalogError({
    code: "TOOL_NOT_FOUND",
    tool: name,
    what: `There is no tool named ${JSON.stringify(name)}`,
    next: offered.length > 0 ? `Use one of: ${offered.slice(0, 20).join(", ")}` : undefined,
  });
