/** Recognises a server that refuses the state it gave the client. */
import { ToolCallError } from "../errors/tool-call-error.js";

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
