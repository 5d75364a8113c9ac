/** Converts anything thrown to a `ToolportError`, by brands, codes and statuses, never by message text. */
import { redactText } from "../util/redact-text.js";
import {
  fromHttpStatus,
  fromRpcError,
  fromSystemError,
  hasBrand,
  httpStatusOf,
  isNamed,
  readField,
} from "./foreign-error.js";
import {
  AuthError,
  type AuthErrorCode,
  ConnectionError,
  type ConnectionErrorCode,
  type ErrorContext,
  ToolCallError,
  ToolportError,
} from "./toolport-error.js";

const MAX_DEPTH = 8;

const causeOf = (error: unknown): unknown =>
  readField(error, "cause") ?? readField(readField(error, "data"), "cause");

/** Errors of the SDK that only wrap the actual failure, their cause. */
const isWrapper = (error: unknown): boolean =>
  hasBrand(error, "mcp.SdkError") &&
  ["ERA_NEGOTIATION_FAILED", "SEND_FAILED"].includes(String(readField(error, "code")));

function fromSignal(error: unknown, context: ErrorContext): ToolportError | undefined {
  const name = readField(error, "name");
  if (name === "AbortError") {
    return new ToolportError({
      ...context,
      code: "ABORTED",
      what: "The operation was aborted",
      cause: error,
    });
  }
  if (name !== "TimeoutError") return undefined;
  return new ToolCallError({
    ...context,
    code: "TIMEOUT",
    what: "The operation timed out",
    retryable: true,
    outcome: context.phase === "connect" ? "unsent" : "unknown",
    cause: error,
  });
}

function recognise(error: unknown, context: ErrorContext, depth: number): ToolportError | undefined {
  if (ToolportError.isInstance(error)) {
    // An older copy of the package may lack the method.
    return typeof error.withContext === "function" ? error.withContext(context) : error;
  }
  if (depth > MAX_DEPTH) return undefined;
  const cause = causeOf(error);
  const inner = cause === undefined ? undefined : () => recognise(cause, context, depth + 1);
  if (inner !== undefined && isWrapper(error)) {
    const found = inner();
    if (found !== undefined) return found;
  }
  return (
    fromSdkError(error, context) ?? fromSystemError(error, context) ?? fromSignal(error, context) ?? inner?.()
  );
}

function describe(error: unknown): string {
  const message = typeof error === "string" ? error : readField(error, "message");
  return typeof message === "string" ? redactText(message).replace(/[.\s]+$/, "") : "";
}

/**
 * Converts any error to a `ToolportError`. A `ToolportError` stays the same, but missing names of server and tool are filled
 * in. Callers that passed an `AbortSignal` to the SDK must check it first: the SDK reports an abort as a timeout.
 */
export function toToolportError(error: unknown, context: ErrorContext = {}): ToolportError {
  const known = recognise(error, context, 0);
  if (known !== undefined) return known;
  const text = describe(error);
  return new ToolportError({
    ...context,
    code: "UNEXPECTED",
    what: `An unexpected error occurred${text === "" ? "" : `: ${text}`}`,
    outcome: context.phase === "connect" ? "unsent" : "unknown",
    cause: error,
  });
}

interface AuthFailure {
  code: AuthErrorCode;
  what: string;
  next: string;
}

const LOG_IN = "Authorize again";
const mismatch: AuthFailure = {
  code: "ISSUER_MISMATCH",
  what: "The authorization server is not the expected one",
  next: "Do not log in until you know why; the response may come from an attacker",
};

/** Subclasses first. Messages of authorization servers are not quoted: an attacker may have written them. */
const AUTH_FAILURES: readonly (readonly [brand: string, failure: AuthFailure])[] = [
  [
    "mcp.UnauthorizedError",
    {
      code: "AUTH_REQUIRED",
      what: "The server requires authorization",
      next: "Authorize, then connect again",
    },
  ],
  [
    "mcp.InsufficientScopeError",
    {
      code: "INSUFFICIENT_SCOPE",
      what: "The authorization does not cover this request",
      next: "Authorize again with the scopes that the server requests",
    },
  ],
  ["mcp.IssuerMismatchError", mismatch],
  ["mcp.AuthorizationServerMismatchError", mismatch],
  [
    "mcp.RegistrationRejectedError",
    {
      code: "AUTH_FAILED",
      what: "The authorization server did not register this client",
      next: "Register the client manually and configure its client id",
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
  [
    "mcp.OAuthError",
    { code: "AUTH_FAILED", what: "The authorization server denied the request", next: LOG_IN },
  ],
];

/** Error codes of RFC 6749 for temporary failures. */
const TEMPORARY: readonly unknown[] = ["server_error", "temporarily_unavailable"];

function fromAuthError(error: unknown, context: ErrorContext): AuthError | undefined {
  // In version 1 of the SDK this class has neither a brand nor a `name`.
  const found =
    AUTH_FAILURES.find(([brand]) => hasBrand(error, brand)) ??
    (isNamed(error, "UnauthorizedError") ? AUTH_FAILURES[0] : undefined);
  if (found === undefined) return undefined;
  return new AuthError({
    ...context,
    ...found[1],
    retryable: TEMPORARY.includes(readField(error, "code")),
    outcome: "unsent",
    status: httpStatusOf(error),
    cause: error,
  });
}

/** The limit that a timeout of the SDK contains. */
const limitOf = (error: unknown): unknown =>
  ["timeout", "maxTotalTimeout"].map((key) => readField(readField(error, "data"), key)).find(Number.isFinite);

function timeout(error: unknown, context: ErrorContext): ToolCallError {
  const limit = limitOf(error);
  return new ToolCallError({
    ...context,
    code: "TIMEOUT",
    what: `The server did not respond in time${limit === undefined ? "" : ` (${limit} ms)`}`,
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
    what: "The response has a content type that MCP does not allow",
  },
  CAPABILITY_NOT_SUPPORTED: { code: "PROTOCOL", what: "The server does not support this", unsent: true },
  METHOD_NOT_SUPPORTED_BY_PROTOCOL_VERSION: {
    code: "PROTOCOL",
    what: "The server's protocol revision does not have this method",
    unsent: true,
  },
  INVALID_RESULT: { code: "PROTOCOL", what: "The response violates the protocol" },
  UNSUPPORTED_RESULT_TYPE: {
    code: "PROTOCOL",
    what: "The type of the result is not supported",
  },
  INPUT_REQUIRED_ROUNDS_EXCEEDED: { code: "PROTOCOL", what: "The server requested input too many times" },
  LIST_PAGINATION_EXCEEDED: { code: "PROTOCOL", what: "The server's list has too many pages" },
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

/** Version 1 of the SDK reports local failures by numeric codes that servers also use for other errors. */
function fromVersion1(error: unknown, context: ErrorContext): ToolportError | undefined {
  if (!isNamed(error, "McpError")) return undefined;
  const code = readField(error, "code");
  if (code === -32000) return fromLocalError("CONNECTION_CLOSED", error, context);
  // Only the SDK's own timeouts contain the limit; -32001 from a server usually means a lost session.
  return code === -32001 && limitOf(error) !== undefined ? timeout(error, context) : undefined;
}

const isRpcCode = (code: unknown): code is number =>
  typeof code === "number" && Number.isInteger(code) && code >= -32768 && code <= -32000;

const HTTP_ERROR_BRANDS = ["mcp.SdkHttpError", "mcp.SseError"];
/** The same classes in version 1 of the SDK. */
const HTTP_ERROR_NAMES = ["StreamableHTTPError", "SseError"];

function fromHttpError(error: unknown, context: ErrorContext): ToolportError | undefined {
  const isHttp =
    HTTP_ERROR_BRANDS.some((brand) => hasBrand(error, brand)) ||
    HTTP_ERROR_NAMES.some((name) => isNamed(error, name));
  const status = isHttp ? httpStatusOf(error) : undefined;
  if (status !== undefined) return fromHttpStatus(status, error, context);
  // The event stream failed, and the SDK gives no reason.
  const isStream = hasBrand(error, "mcp.SseError") || isNamed(error, "SseError");
  return isStream ? fromLocalError("SSE_ERROR", error, context) : undefined;
}

/** Converts an error of either version of the SDK; undefined for any other error. */
function fromSdkError(error: unknown, context: ErrorContext): ToolportError | undefined {
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
