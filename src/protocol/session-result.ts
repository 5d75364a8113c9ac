/** Reads the results of requests: their type, and whether they depend on input of the user. */
import { ToolCallError } from "../errors/toolport-error.js";
import { isRecord } from "../util/json.js";

const inputResults = new WeakSet<object>();

/** True for a result that depends on input of the user. It must never be cached. */
export const dependsOnInput = (result: object): boolean => inputResults.has(result);

/** Makes {@link dependsOnInput} true for the result. */
export function markDependsOnInput<Result extends object>(result: Result): Result {
  inputResults.add(result);
  return result;
}

export const hasResultType = (result: unknown): boolean =>
  (result as { resultType?: unknown } | null | undefined)?.resultType !== undefined;

/** Checks the type of a result and removes `resultType`. Without the field a result is complete: only modern servers send it. */
export function completeResult(server: string, method: string, result: unknown): Record<string, unknown> {
  if (!isRecord(result)) throw unusable({ server, what: `The result of ${method} is not an object`, result });
  if (result["resultType"] === undefined) return result;
  const { resultType, ...rest } = result;
  if (resultType === "complete") return rest;
  // The caller needs the field to tell a task from a result.
  if (resultType === "task" && method === "tools/call") return result;
  const type = JSON.stringify(resultType);
  throw unusable({ server, what: `The result of ${method} has the unsupported type ${type}`, result });
}

const unusable = (init: { server: string; what: string; result: unknown }): ToolCallError =>
  new ToolCallError({ code: "PROTOCOL", next: "Report this to the author of the server", ...init });

const INVALID_PARAMS = -32602;

/** The state has expired, or the key of the server has changed. */
export function isRefusedState(error: unknown): error is ToolCallError {
  if (!(error instanceof ToolCallError) || error.rpcCode !== INVALID_PARAMS) return false;
  return (error.data as { reason?: unknown } | null | undefined)?.reason === "invalid_request_state";
}

/** A server checks the state before it runs anything. */
export function throwUnsentIfRefused(error: unknown): never {
  throw isRefusedState(error) ? error.withOutcome("unsent") : error;
}
