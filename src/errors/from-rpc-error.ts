/** Failures a server reports by a JSON-RPC error. */
import { redactText } from "../util/redact-text.js";
import { ConnectionError } from "./connection-error.js";
import type { ErrorContext } from "./error-context.js";
import { ToolCallError } from "./tool-call-error.js";
import type { ToolportError } from "./toolport-error.js";

/** The one code that says "my fault, not yours". No other code, and no range of codes, speaks of a passing trouble. */
const INTERNAL_ERROR = -32603;

/**
 * Codes that come before any work: parse error, unknown method, missing capability, unsupported revision. Invalid
 * parameters (-32602) and invalid request (-32600) are not among them: tools throw them in the middle of their work.
 */
const BEFORE_WORK: readonly number[] = [-32700, -32601, -32021, -32022];

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
  const retryable = code === INTERNAL_ERROR;
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
    outcome: BEFORE_WORK.includes(code) ? "unsent" : "unknown",
    rpcCode: code,
    data,
    cause,
  });
}
