/** Sends a call to the configured fallback servers, one after the other, when its own server cannot answer. */

import {
  CatalogError,
  classifyError,
  type Outcome,
  type ServerRef,
  ToolCallError,
  type ToolInfo,
  ToolportError,
} from "@toolport/base";
import type { FallbackConfig } from "../config/server-config.js";
import { askPredicate } from "./retry.js";
import {
  type CallAnswer,
  type CallTarget,
  type ResolvedCall,
  type ResolvedHandler,
  type ServerStep,
  type ToolCall,
  withAdded,
} from "./tool-call.js";

/** Describes the failure before Toolport asks the next server. */
export interface FallbackRequest {
  readonly server: ServerRef;
  readonly tool: ToolInfo;
  /** The arguments as the model gave them, with the values of interceptors. They are repaired for each server separately. */
  readonly args: Readonly<Record<string, unknown>>;
  readonly error: ToolportError;
  /** `"unsent"`: none of the servers asked so far can have run the call. */
  readonly outcome: Outcome;
  /** The server that Toolport would ask next. */
  readonly next: ServerRef;
  readonly context?: unknown;
}

/** Return `false` to keep the call from being sent to another server. */
export type BeforeFallback = (request: FallbackRequest) => unknown;

export interface FallbackParts {
  resolve: (tool: ToolInfo) => CallTarget;
  /** A tool of a server by its name on that server; connects the server if necessary. */
  findTool: (server: string, sourceName: string, call: ToolCall) => Promise<ToolInfo | undefined>;
  beforeFallback: BeforeFallback | undefined;
  /** Receives errors of callbacks. */
  report: (error: unknown) => void;
}

/**
 * Asks the servers in order until one answers; otherwise throws one error with all attempts. A result with `isError` is an
 * answer and never leads to a fallback.
 */
export function fallbackStep({ resolve, findTool, beforeFallback, report }: FallbackParts): ServerStep {
  return (next) => (call) => {
    const { fallback } = call.target.config;
    return fallback === undefined ? next(call) : askInTurn(call, fallback, next);
  };

  async function askInTurn(
    call: ResolvedCall,
    fallback: FallbackConfig,
    next: ResolvedHandler,
  ): Promise<CallAnswer> {
    const errors: ToolportError[] = [];
    const servers = [call.tool.server, ...fallback.servers];
    const sourceName = fallback.tools[call.tool.sourceName] ?? call.tool.sourceName;
    for (const [position, server] of servers.entries()) {
      if (position > 0 && !(await isAllowed(call, errors, servers.slice(position - 1)))) break;
      const patient = position === servers.length - 1;
      let { tool } = call;
      const ask = async (sent: ToolCall): Promise<CallAnswer> => {
        if (position > 0) tool = await fallbackTool(findTool, sent);
        const own = tool.definedBy === undefined ? tool : await ownTool(findTool, { ...sent, tool, patient });
        return next({ ...sent, tool: own, target: resolve(own), patient });
      };
      const { admitFallback = (one) => one } = call;
      try {
        if (position === 0) return await ask(call);
        const callOfServer = await admitFallback({ ...call, tool: { ...call.tool, server, sourceName } });
        if (callOfServer !== undefined) return await ask(callOfServer);
      } catch (error) {
        if (error instanceof NotFound) errors.push(error.reason);
        else {
          rethrowUnlessFallbackHelps(error, { call: { ...call, tool }, fallback, position, report });
          errors.push(error);
        }
      }
    }
    throw exhaustedError(call, errors);
  }

  /** Calls `beforeFallback` for every next server, even if the previous one was skipped because it has no such tool. */
  async function isAllowed(
    call: ToolCall,
    errors: readonly ToolportError[],
    [server, next]: readonly string[],
  ): Promise<boolean> {
    const verdict = await beforeFallback?.({
      server: { name: server! },
      tool: call.tool,
      args: withAdded(call),
      error: errors.at(-1)!,
      outcome: outcomeOf(errors),
      next: { name: next! },
      context: call.options.context,
    });
    return verdict !== false;
  }
}

type FindTool = FallbackParts["findTool"];

/** The tool of a fallback server. Why there is none is an error that always leads to the next server. */
async function fallbackTool(findTool: FindTool, call: ToolCall): Promise<ToolInfo> {
  const { server, sourceName } = call.tool;
  try {
    const tool = await findTool(server, sourceName, call);
    if (tool !== undefined) return tool;
  } catch (error) {
    throw ToolportError.isInstance(error) ? new NotFound(error) : error;
  }
  throw new NotFound(missingToolError(server, sourceName));
}

/** Replaces a definition that came from a fallback server by that of the server itself, which checks the arguments. */
async function ownTool(findTool: FindTool, call: ToolCall): Promise<ToolInfo> {
  const { server, sourceName } = call.tool;
  const own = await findTool(server, sourceName, call);
  if (own !== undefined) return own;
  throw new CatalogError({
    code: "TOOL_NOT_FOUND",
    server,
    tool: sourceName,
    what: "The server has no such tool; the tool was listed by its fallback server while the server was unreachable",
    next: "Call tools() for the current list",
    outcome: "unsent",
  });
}

/** A fallback server has no tool for the call, or cannot be asked for it. */
class NotFound extends Error {
  constructor(readonly reason: ToolportError) {
    super(reason.message);
  }
}

/** Throws the error again unless the next server may be asked. */
function rethrowUnlessFallbackHelps(
  error: unknown,
  {
    call,
    fallback,
    position,
    report,
  }: Pick<FallbackParts, "report"> & { call: ToolCall; fallback: FallbackConfig; position: number },
): asserts error is ToolportError {
  // Aborts and errors that are not ours pass through.
  if (call.options.signal?.aborted || !ToolportError.isInstance(error)) throw error;
  if (performance.now() >= call.deadline) throw error;
  // The caller does not know the schema of a fallback server, only that of the tool it called.
  const isUnfit = position > 0 && error.code === "INVALID_ARGUMENTS";
  const { when } = fallback;
  const verdict = typeof when === "function" ? askPredicate(when, { error, call, report }) : undefined;
  if (!(verdict ?? (isUnfit || classifyError(error).useFallback))) throw error;
  if (when === "unsent" && error.outcome !== "unsent") throw error;
}

const outcomeOf = (errors: readonly ToolportError[]): Outcome =>
  errors.every((error) => error.outcome === "unsent") ? "unsent" : "unknown";

function missingToolError(server: string, tool: string): ToolportError {
  return new ToolCallError({
    code: "REFUSED",
    server,
    tool,
    what: "The fallback server has no such tool",
    next: "Set the name of its tool in fallback.tools",
    outcome: "unsent",
  });
}

function exhaustedError({ tool }: ToolCall, errors: readonly ToolportError[]): ToolportError {
  if (errors.length === 1) return errors[0]!;
  return new ToolCallError({
    code: "FALLBACK_EXHAUSTED",
    server: tool.server,
    tool: tool.sourceName,
    what: `No server could answer: ${errors.map((error) => `${error.server ?? "?"}: ${error.what}`).join("; ")}`,
    next: "See attempts for the error of each server",
    retryable: errors.some((error) => error.retryable),
    outcome: outcomeOf(errors),
    attempts: errors,
    cause: errors[0],
  });
}
