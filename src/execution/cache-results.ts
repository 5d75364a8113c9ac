/** An interceptor for users, and an example of one: remembers what tools answered that always answer the same. */
import { compileNames } from "../catalog/filters/glob.js";
import { ToolCallError } from "../errors/tool-call-error.js";
import { withDeadline } from "../util/with-deadline.js";
import { withAdded } from "./check-arguments.js";
import { TRUNCATED_META_KEY } from "./result-size.js";
import type { CallHandler, CallInterceptor, ToolCall } from "./tool-call.js";
import { INPUT_META_KEY, type ToolResult } from "./tool-result.js";

export interface CacheResultsOptions {
  /** Public names of the tools to remember, exact or with `*` and `?`. Only name tools that change nothing. */
  tools: readonly string[];
  /** How long an answer stays good. */
  ttlMs: number;
  /** Answers kept; the one not used for longest goes first. @default 500 */
  max?: number;
  /** @default performance.now */
  now?: () => number;
}

interface Kept {
  readonly result: ToolResult;
  readonly expiresAt: number;
}

/**
 * Answers repeated calls from memory: the same tool of the same server, the same arguments (in any order), headers and
 * `_meta`, for the same principal. Failures, results with `isError` and truncated results are not remembered. Equal
 * calls at the same time share one request; if that fails, each makes its own. Every port has a memory of its own.
 *
 * @example
 * ```ts
 * createToolport({ mcpServers, interceptors: [cacheResults({ tools: ["docs__search", "geo__*"], ttlMs: 60_000 })] });
 * ```
 */
export function cacheResults({
  tools,
  ttlMs,
  max = 500,
  now = () => performance.now(),
}: CacheResultsOptions): CallInterceptor {
  const isWanted = compileNames(tools);
  return (next) => {
    const kept = new Map<string, Kept>();
    const flights = new Map<string, Promise<ToolResult | undefined>>();

    return async (call) => {
      // Whoever starts a task wants one of his own.
      const key = isWanted(call.tool.name) && !call.options.task ? callKey(call) : undefined;
      if (key === undefined) return next(call);
      const known = recall(key);
      if (known !== undefined) return reuse(known, call);
      const flight = flights.get(key);
      if (flight === undefined) return ask(key, call, next);
      const shared = await wait(flight, call);
      return shared === undefined ? next(call) : reuse(shared, call);
    };

    function recall(key: string): ToolResult | undefined {
      const entry = kept.get(key);
      if (entry === undefined) return undefined;
      kept.delete(key);
      if (entry.expiresAt <= now()) return undefined;
      // A map keeps the order of insertion: now it is the one used last.
      kept.set(key, entry);
      return entry.result;
    }

    async function ask(key: string, call: ToolCall, send: CallHandler): Promise<ToolResult> {
      const answer = send(call);
      const flight = answer
        .then((result) => (isKeepable(result) ? structuredClone(result) : undefined))
        // Whoever waits asks for himself; what cannot be copied is not kept.
        .catch(() => undefined);
      flights.set(key, flight);
      const result = await flight.finally(() => flights.delete(key));
      if (result !== undefined) remember(key, result);
      return answer;
    }

    function remember(key: string, result: ToolResult): void {
      kept.set(key, { result, expiresAt: now() + ttlMs });
      const oldest = kept.size > max ? kept.keys().next().value : undefined;
      if (oldest !== undefined) kept.delete(oldest);
    }

    /** The flight is another caller's: this one's own signal and deadline hold all the same. */
    function wait(flight: Promise<ToolResult | undefined>, call: ToolCall): Promise<ToolResult | undefined> {
      return withDeadline(flight, {
        signal: call.options.signal,
        timeoutMs: call.deadline - now(),
        onTimeout: () =>
          new ToolCallError({
            code: "TIMEOUT",
            server: call.tool.server,
            tool: call.tool.sourceName,
            what: "An equal call under way was not answered in time",
            next: "Raise maxTimeoutMs if the work takes longer",
            retryable: true,
            phase: "tools/call",
          }),
      });
    }

    /** A copy, so that whoever changes it changes nobody else's. */
    function reuse(result: ToolResult, call: ToolCall): ToolResult {
      return { ...structuredClone(result), attempts: 0, durationMs: now() - call.startedAt };
    }
  };
}

/** Half an answer, a failure, one that holds handles or that a user had a say in is good for one caller only. */
const isKeepable = ({ isError, _meta, artifacts }: ToolResult): boolean =>
  !isError &&
  artifacts === undefined &&
  _meta?.[TRUNCATED_META_KEY] === undefined &&
  _meta?.[INPUT_META_KEY] === undefined;

/** Everything that can make the answer another one; undefined for arguments that are not JSON. */
function callKey({ principal, tool, args, added, options }: ToolCall): string | undefined {
  try {
    return JSON.stringify(
      [principal, tool.server, tool.sourceName, withAdded({ args, added }), options.headers, options.meta],
      inOrder,
    );
  } catch {
    return undefined;
  }
}

/** Sorts the fields of objects, so that their order makes no difference. */
function inOrder(_name: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries);
}
