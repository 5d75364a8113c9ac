/** Failures a server reports by a JSON-RPC error. */
import { redactText } from "../util/redact-text.js";
import { ConnectionError } from "./connection-error.js";
import { ToolCallError } from "./tool-call-error.js";
import type { ErrorContext, Outcome, ToolportError } from "./toolport-error.js";

/** What a JSON-RPC error code says about the request it answers. */
export interface RpcErrorTraits {
  readonly outcome: Outcome;
  /** Another attempt can help. */
  readonly retryable: boolean;
}

const REFUSED: RpcErrorTraits = { outcome: "unsent", retryable: false };
const UNKNOWN: RpcErrorTraits = { outcome: "unknown", retryable: false };

/**
 * The codes that say anything about outcome or retry; every other code, and every range of codes, says nothing. The only
 * table: whatever makes an error of a JSON-RPC answer reads it, and a test holds `docs/errors.md` to it.
 *
 * Invalid parameters (-32602) and invalid request (-32600) are no refusals: tools throw them in the middle of their work.
 */
export const RPC_ERRORS: ReadonlyMap<number, RpcErrorTraits> = new Map([
  [-32700, REFUSED], // parse error
  [-32601, REFUSED], // method not found
  [-32020, REFUSED], // headers do not match the body
  [-32021, REFUSED], // missing client capability
  [-32022, REFUSED], // unsupported protocol revision
  [-32603, { outcome: "unknown", retryable: true }], // internal error
]);

export const traitsOfRpcError = (code: number | undefined): RpcErrorTraits =>
  (code === undefined ? undefined : RPC_ERRORS.get(code)) ?? UNKNOWN;

export interface RpcError {
  code: number;
  message: string;
  data?: unknown;
}

/** The error for a JSON-RPC error a server answered with. */
export function fromRpcError(
  { code, message, data }: RpcError,
  cause: unknown,
  context: ErrorContext,
): ToolportError {
  const { outcome, retryable } = traitsOfRpcError(code);
  const said = redactText(message).replace(/[.\s]+$/, "");
  const what = `The server answered with error ${code}${said === "" ? "" : `: ${said}`}`;
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
    data,
    cause,
  });
}
