/** When one server cannot answer, the next one that the caller named is asked. */

import type { FallbackConfig } from "../config/server-config.js";
import { CatalogError } from "../errors/catalog-error.js";
import { classifyError } from "../errors/classify-error.js";
import { ToolCallError } from "../errors/tool-call-error.js";
import { type Outcome, ToolportError } from "../errors/toolport-error.js";
import type { ServerRef } from "../model/listed-tool.js";
import type { ToolInfo } from "../model/tool-info.js";
import { askPredicate } from "./ask-predicate.js";
import { withAdded } from "./check-arguments.js";
import type { CallHandler, CallInterceptor, ToolCall } from "./tool-call.js";
import type { ToolResult } from "./tool-result.js";

/** What is known at the moment before another server is asked. */
export interface FallbackRequest {
  readonly server: ServerRef;
  readonly tool: ToolInfo;
  /** As the model gave them, with what interceptors add. Each server gets them as its own schema has them repaired. */
  readonly args: Readonly<Record<string, unknown>>;
  readonly error: ToolportError;
  /** `"unsent"`: no server asked so far can have run the call. */
  readonly outcome: Outcome;
  /** The server that would be asked now. */
  readonly next: ServerRef;
  readonly context?: unknown;
}

/** Returns `false` to keep the call from going to another server. */
export type BeforeFallback = (request: FallbackRequest) => unknown;

export interface FallbackParts {
  /** The fallback of a server, if it has one. */
  fallbackOf: (server: string) => FallbackConfig | undefined;
  /** A tool of a server by its name there; the server may have to be connected first. */
  findTool: (server: string, sourceName: string, call: ToolCall) => Promise<ToolInfo | undefined>;
  beforeFallback: BeforeFallback | undefined;
  /** Gets what a rule of the user's throws. */
  report: (error: unknown) => void;
}

/** A list tried in a loop, that ends in one error with all attempts. Never for a tool that reports failure. */
export function fallbackStep({
  fallbackOf,
  findTool,
  beforeFallback,
  report,
}: FallbackParts): CallInterceptor {
  return (next) => (call) => {
    const fallback = fallbackOf(call.tool.server);
    return fallback === undefined ? next(call) : askInTurn(call, fallback, next);
  };

  async function askInTurn(call: ToolCall, fallback: FallbackConfig, next: CallHandler): Promise<ToolResult> {
    const errors: ToolportError[] = [];
    const targets = [call.tool.server, ...fallback.servers];
    for (const [position, server] of targets.entries()) {
      if (position > 0 && !(await mayAsk({ call, errors, server: targets[position - 1]!, next: server })))
        break;
      const tool = position === 0 ? call.tool : await target(server, call);
      if (tool === undefined) continue;
      const patient = position === targets.length - 1;
      try {
        const own = tool.definedBy === undefined ? tool : await ownTool({ ...call, patient });
        return await next({ ...call, tool: own, patient });
      } catch (error) {
        errors.push(mayGoOn(error, { call: { ...call, tool }, fallback, position, report }));
      }
    }
    throw exhausted(call, errors);

    async function target(server: string, { tool }: ToolCall): Promise<ToolInfo | undefined> {
      const name = fallback.tools[tool.sourceName] ?? tool.sourceName;
      try {
        const found = await findTool(server, name, call);
        if (found === undefined) errors.push(missing(server, name));
        return found;
      } catch (error) {
        if (!ToolportError.isInstance(error)) throw error;
        errors.push(error);
        return undefined;
      }
    }
  }

  /** The definition of the server itself, in place of that of a fallback server: arguments are checked against it. */
  async function ownTool(call: ToolCall): Promise<ToolInfo> {
    const { server, sourceName } = call.tool;
    const own = await findTool(server, sourceName, call);
    if (own !== undefined) return own;
    throw new CatalogError({
      code: "TOOL_NOT_FOUND",
      server,
      tool: sourceName,
      what: "The server has no such tool; while it was away, the tool was listed by its fallback",
      next: "Look at tools() for what there is",
      outcome: "unsent",
    });
  }

  /** Every server is asked about, also one that comes after another that had no such tool. */
  async function mayAsk(at: {
    call: ToolCall;
    errors: readonly ToolportError[];
    server: string;
    next: string;
  }): Promise<boolean> {
    const { call, errors, server, next } = at;
    const { tool, options } = call;
    const request: FallbackRequest = {
      server: { name: server },
      tool,
      args: withAdded(call),
      error: errors.at(-1)!,
      outcome: outcomeOf(errors),
      next: { name: next },
      context: options.context,
    };
    return (await beforeFallback?.(request)) !== false;
  }
}

/** The error, if another server may be asked after it; throws it otherwise. */
function mayGoOn(error: unknown, { call, fallback, position, report }: FailedTarget): ToolportError {
  // An abort, a bug of a caller's interceptor: not ours to catch.
  if (call.options.signal?.aborted || !ToolportError.isInstance(error)) throw error;
  if (performance.now() >= call.deadline) throw error;
  // The arguments fit the tool that was called; the caller has not seen the schema of a fallback.
  const isUnfit = position > 0 && error.code === "INVALID_ARGUMENTS";
  const { when } = fallback;
  const verdict = typeof when === "function" ? askPredicate(when, { error, call, report }) : undefined;
  if (!(verdict ?? (isUnfit || classifyError(error).useFallback))) throw error;
  if (when === "unsent" && error.outcome !== "unsent") throw error;
  return error;
}

interface FailedTarget {
  readonly call: ToolCall;
  readonly fallback: FallbackConfig;
  readonly position: number;
  readonly report: (error: unknown) => void;
}

const outcomeOf = (errors: readonly ToolportError[]): Outcome =>
  errors.every((error) => error.outcome === "unsent") ? "unsent" : "unknown";

function missing(server: string, tool: string): ToolportError {
  return new ToolCallError({
    code: "REFUSED",
    server,
    tool,
    what: "The fallback server has no such tool",
    next: "Name the tool it has in fallback.tools",
    outcome: "unsent",
  });
}

function exhausted({ tool }: ToolCall, errors: readonly ToolportError[]): ToolportError {
  if (errors.length === 1) return errors[0]!;
  return new ToolCallError({
    code: "FALLBACK_EXHAUSTED",
    server: tool.server,
    tool: tool.sourceName,
    what: `No server could answer: ${errors.map((error) => `${error.server ?? "?"}: ${error.what}`).join("; ")}`,
    next: "Look at attempts for each of them",
    retryable: errors.some((error) => error.retryable),
    outcome: outcomeOf(errors),
    attempts: errors,
    cause: errors[0],
  });
}
