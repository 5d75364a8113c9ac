/** An interceptor that caches the results of tools that always return the same. Also an example of an interceptor. */

import { BoundedMap, compileNames, isRecord, ToolCallError, withDeadline } from "@toolport/base";
import { TRUNCATED_META_KEY } from "./artifacts/result-payload.js";
import {
  type CallHandler,
  type CallInterceptor,
  continuesRound,
  type ToolCall,
  withAdded,
} from "./tool-call.js";
import { INPUT_META_KEY, type ToolResult } from "./tool-result.js";

/** Options of `cacheResults()`. */
export interface CacheResultsOptions {
  /** Public names of the tools to cache, exact or with `*` and `?`. Only name tools that change nothing. */
  tools: readonly string[];
  /** How long a result stays valid. */
  ttlMs: number;
  /** Maximum number of results; the least recently used is removed first. @default 500 */
  max?: number;
  /** @default performance.now */
  now?: () => number;
}

interface Kept {
  readonly result: ToolResult;
  readonly expiresAt: number;
}

/**
 * Answers repeated calls from memory: same tool, server, arguments (in any order), headers, `_meta` and principal. Errors,
 * results with `isError` and truncated results are not cached. Equal concurrent calls share one request; if it fails, each
 * caller sends its own. Every port has its own cache.
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
    const kept = new BoundedMap<string, Kept>(max);
    const flights = new Map<string, Promise<ToolResult | undefined>>();

    return async (call) => {
      // Every caller that starts a task gets its own, and so does a person who has answered the server.
      const isOwn = Boolean(call.options.task ?? call.round?.task) || continuesRound(call);
      const key = isWanted(call.tool.name) && !isOwn ? callKey(call) : undefined;
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
      if (entry.expiresAt <= now()) {
        kept.delete(key);
        return undefined;
      }
      // This entry is now the most recently used.
      kept.set(key, entry);
      return entry.result;
    }

    async function ask(key: string, call: ToolCall, send: CallHandler): Promise<ToolResult> {
      const answer = send(call);
      const flight = answer
        .then((result) => (isKeepable(result) ? structuredClone(result) : undefined))
        // If the request fails or the result cannot be cloned, each waiting caller sends its own.
        .catch(() => undefined);
      flights.set(key, flight);
      const result = await flight.finally(() => flights.delete(key));
      if (result !== undefined) kept.set(key, { result, expiresAt: now() + ttlMs });
      return answer;
    }

    /** Waits for the request of another caller, within the signal and deadline of this one. */
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

    /** A copy, so that callers cannot change the results of others. */
    function reuse(result: ToolResult, call: ToolCall): ToolResult {
      return { ...structuredClone(result), attempts: 0, durationMs: now() - call.startedAt };
    }
  };
}

/** Errors, truncated results, and results with handles or with input of the user are valid for one caller only. */
const isKeepable = ({ isError, _meta, artifacts }: ToolResult): boolean =>
  !isError &&
  artifacts === undefined &&
  _meta?.[TRUNCATED_META_KEY] === undefined &&
  _meta?.[INPUT_META_KEY] === undefined;

/** Everything that determines the result; undefined if the arguments are not JSON. */
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

/** Sorts the fields of objects, because their order does not matter. */
function inOrder(_name: string, value: unknown): unknown {
  if (!isRecord(value)) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries);
}
