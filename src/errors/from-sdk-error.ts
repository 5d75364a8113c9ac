/** Failures the MCP SDK reports, recognised by brand so that the SDK need not be loaded and may be another copy. */
import { AuthError, type AuthErrorCode } from "./auth-error.js";
import { ConnectionError, type ConnectionErrorCode } from "./connection-error.js";
import { hasBrand, httpStatusOf, isNamed, readField } from "./foreign-error.js";
import { fromHttpStatus } from "./from-http-status.js";
import { fromRpcError } from "./from-rpc-error.js";
import { ToolCallError } from "./tool-call-error.js";
import type { ErrorContext, ToolportError } from "./toolport-error.js";

interface AuthFailure {
  code: AuthErrorCode;
  what: string;
  next: string;
}

const LOG_IN = "Authorize anew";
const mismatch: AuthFailure = {
  code: "ISSUER_MISMATCH",
  what: "The authorization server is not the one that was expected",
  next: "Do not log in before you know why; the answer may come from an attacker",
};

/** Subclasses first. What an authorization server says is not quoted: an attacker may have written it. */
const AUTH_FAILURES: readonly (readonly [brand: string, failure: AuthFailure])[] = [
  [
    "mcp.UnauthorizedError",
    { code: "AUTH_REQUIRED", what: "The server wants authorization", next: "Authorize, then connect again" },
  ],
  [
    "mcp.InsufficientScopeError",
    {
      code: "INSUFFICIENT_SCOPE",
      what: "The authorization does not cover this request",
      next: "Authorize anew with the scopes the server asks for",
    },
  ],
  ["mcp.IssuerMismatchError", mismatch],
  ["mcp.AuthorizationServerMismatchError", mismatch],
  [
    "mcp.RegistrationRejectedError",
    {
      code: "AUTH_FAILED",
      what: "The authorization server did not register this client",
      next: "Register it by hand and configure its client id",
    },
  ],
  [
    "mcp.InsecureTokenEndpointError",
    {
      code: "AUTH_FAILED",
      what: "The token endpoint is not protected by TLS",
      next: "Ask the server's operator for an https: endpoint",
    },
  ],
  ["mcp.OAuthClientFlowError", { code: "AUTH_FAILED", what: "The authorization failed", next: LOG_IN }],
  ["mcp.OAuthError", { code: "AUTH_FAILED", what: "The authorization server refused", next: LOG_IN }],
];

/** Codes of RFC 6749 with which an authorization server says "later". */
const LATER: readonly unknown[] = ["server_error", "temporarily_unavailable"];

function fromAuthError(error: unknown, context: ErrorContext): AuthError | undefined {
  // Version 1 of the SDK had neither brands nor a name of its own on this one.
  const found =
    AUTH_FAILURES.find(([brand]) => hasBrand(error, brand)) ??
    (isNamed(error, "UnauthorizedError") ? AUTH_FAILURES[0] : undefined);
  if (found === undefined) return undefined;
  return new AuthError({
    ...context,
    ...found[1],
    retryable: LATER.includes(readField(error, "code")),
    outcome: "unsent",
    status: httpStatusOf(error),
    cause: error,
  });
}

function timeout(error: unknown, context: ErrorContext): ToolCallError {
  const data = readField(error, "data");
  const limit = [readField(data, "timeout"), readField(data, "maxTotalTimeout")].find(Number.isFinite);
  return new ToolCallError({
    ...context,
    code: "TIMEOUT",
    what: `The server did not answer in time${limit === undefined ? "" : ` (${limit} ms)`}`,
    next: "Raise timeoutMs if the work takes longer",
    retryable: true,
    outcome: context.phase === "connect" ? "unsent" : "unknown",
    cause: error,
  });
}

interface SdkFailure {
  code: ConnectionErrorCode | "PROTOCOL";
  what: string;
  retryable?: boolean;
  unsent?: boolean;
}

const SDK_FAILURES: Readonly<Record<string, SdkFailure>> = {
  CONNECTION_CLOSED: { code: "CLOSED", what: "The connection was closed", retryable: true },
  NOT_CONNECTED: { code: "CLOSED", what: "The server is not connected", retryable: true, unsent: true },
  NOT_INITIALIZED: { code: "CLOSED", what: "The server is not connected", retryable: true, unsent: true },
  SEND_FAILED: { code: "UNREACHABLE", what: "The message could not be sent", retryable: true },
  SSE_ERROR: {
    code: "UNREACHABLE",
    what: "The event stream could not be opened or was lost",
    retryable: true,
  },
  ERA_NEGOTIATION_FAILED: {
    code: "HANDSHAKE_FAILED",
    what: "No protocol revision could be agreed on",
    unsent: true,
  },
  CLIENT_HTTP_UNEXPECTED_CONTENT: {
    code: "BAD_RESPONSE",
    what: "The server's answer has a content type that is not MCP",
  },
  CAPABILITY_NOT_SUPPORTED: { code: "PROTOCOL", what: "The server does not support this", unsent: true },
  METHOD_NOT_SUPPORTED_BY_PROTOCOL_VERSION: {
    code: "PROTOCOL",
    what: "The server's protocol revision does not have this method",
    unsent: true,
  },
  INVALID_RESULT: { code: "PROTOCOL", what: "The server's answer does not follow the protocol" },
  UNSUPPORTED_RESULT_TYPE: {
    code: "PROTOCOL",
    what: "The server's answer is of a kind that is not supported",
  },
  INPUT_REQUIRED_ROUNDS_EXCEEDED: { code: "PROTOCOL", what: "The server went on asking for input" },
  LIST_PAGINATION_EXCEEDED: { code: "PROTOCOL", what: "The server's list has no end" },
};

function fromLocalError(code: unknown, error: unknown, context: ErrorContext): ToolportError | undefined {
  if (code === "REQUEST_TIMEOUT") return timeout(error, context);
  const failure = typeof code === "string" && Object.hasOwn(SDK_FAILURES, code) && SDK_FAILURES[code];
  if (!failure) return undefined;
  const init = {
    ...context,
    what: failure.what,
    retryable: failure.retryable,
    outcome: failure.unsent === true || context.phase === "connect" ? "unsent" : "unknown",
    cause: error,
  } as const;
  return failure.code === "PROTOCOL"
    ? new ToolCallError({ ...init, code: failure.code, data: readField(error, "data") })
    : new ConnectionError({ ...init, code: failure.code });
}

/** Version 1 of the SDK reported its own troubles by numbers, which servers use for other things. */
function fromVersion1(error: unknown, context: ErrorContext): ToolportError | undefined {
  if (!isNamed(error, "McpError")) return undefined;
  const code = readField(error, "code");
  if (code === -32000) return fromLocalError("CONNECTION_CLOSED", error, context);
  const data = readField(error, "data");
  const limits = [readField(data, "timeout"), readField(data, "maxTotalTimeout")];
  // Only its own timeouts carry their limit; a server's -32001 is most often a lost session.
  return code === -32001 && limits.some(Number.isFinite) ? timeout(error, context) : undefined;
}

const isRpcCode = (code: unknown): code is number =>
  typeof code === "number" && Number.isInteger(code) && code >= -32768 && code <= -32000;

const CARRIES_STATUS = ["mcp.SdkHttpError", "mcp.SseError"];
/** The same classes in version 1. */
const CARRIED_STATUS = ["StreamableHTTPError", "SseError"];

function fromHttpError(error: unknown, context: ErrorContext): ToolportError | undefined {
  const isHttp =
    CARRIES_STATUS.some((brand) => hasBrand(error, brand)) ||
    CARRIED_STATUS.some((name) => isNamed(error, name));
  const status = isHttp ? httpStatusOf(error) : undefined;
  if (status !== undefined) return fromHttpStatus(status, error, context);
  // The event stream ended or never began, and the SDK does not say why.
  const isStream = hasBrand(error, "mcp.SseError") || isNamed(error, "SseError");
  return isStream ? fromLocalError("SSE_ERROR", error, context) : undefined;
}

/** The error for a failure of the SDK's, of either version, or undefined if it is not one. */
export function fromSdkError(error: unknown, context: ErrorContext): ToolportError | undefined {
  const local = fromAuthError(error, context) ?? fromHttpError(error, context);
  if (local !== undefined) return local;
  const code = readField(error, "code");
  if (hasBrand(error, "mcp.SdkError")) return fromLocalError(code, error, context);
  const old = fromVersion1(error, context);
  if (old !== undefined) return old;
  if (!isRpcCode(code) && !(hasBrand(error, "mcp.ProtocolError") && typeof code === "number"))
    return undefined;
  const message = readField(error, "message");
  const text = typeof message === "string" ? message : "";
  return fromRpcError({ code, message: text, data: readField(error, "data") }, error, context);
}
