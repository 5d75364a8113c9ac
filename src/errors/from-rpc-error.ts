/** Converts JSON-RPC errors. */
import { redactText } from "../util/redact-text.js";
import { ConnectionError } from "./connection-error.js";
import { ToolCallError } from "./tool-call-error.js";
import type { ErrorContext, Outcome, ToolportError } from "./toolport-error.js";

/** What an error code says about its request. */
export interface RpcErrorTraits {
  readonly outcome: Outcome;
  /** A retry can help. */
  readonly retryable: boolean;
}

const NOT_RUN: RpcErrorTraits = { outcome: "unsent", retryable: false };
const UNKNOWN: RpcErrorTraits = { outcome: "unknown", retryable: false };

/**
 * The codes that determine outcome or retry; any other code says nothing. All conversions of JSON-RPC errors use this table,
 * and a test compares `docs/errors.md` with it.
 *
 * Invalid parameters (-32602) and invalid request (-32600) are missing: tools throw them in the middle of their work.
 */
export const RPC_ERRORS: ReadonlyMap<number, RpcErrorTraits> = new Map([
  [-32700, NOT_RUN], // parse error
  [-32601, NOT_RUN], // method not found
  [-32020, NOT_RUN], // headers do not match the body
  [-32021, NOT_RUN], // missing client capability
  [-32022, NOT_RUN], // unsupported protocol revision
  [-32603, { outcome: "unknown", retryable: true }], // internal error
]);

export const traitsOfRpcError = (code: number | undefined): RpcErrorTraits =>
  (code === undefined ? undefined : RPC_ERRORS.get(code)) ?? UNKNOWN;

export interface RpcError {
  code: number;
  message: string;
  data?: unknown;
}

export function fromRpcError(
  { code, message, data }: RpcError,
  cause: unknown,
  context: ErrorContext,
): ToolportError {
  const { outcome, retryable } = traitsOfRpcError(code);
  const text = redactText(message).replace(/[.\s]+$/, "");
  const what = `The server answered with error ${code}${text === "" ? "" : `: ${text}`}`;
  if (context.phase === "connect") {
    return new ConnectionError({
      ...context,
      code: "HANDSHAKE_FAILED",
      what: `The handshake failed. ${what}`,
      retryable,
      outcome: "unsent",
      cause,
    });
  }
  return new ToolCallError({
    ...context,
    code: "PROTOCOL",
    what,
    retryable,
    outcome,
    rpcCode: code,
    rpcMessage: message,
    data,
    cause,
  });
}
