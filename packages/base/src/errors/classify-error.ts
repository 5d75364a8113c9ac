/** Classifies errors, and results that report one: their type, and whether a retry or a fallback can help. */
import { redactText } from "../util/redact-text.js";
import { hasBrand, httpStatusOf, isNamed, readField, walkErrors } from "./foreign-error.js";
import { toToolportError } from "./to-toolport-error.js";
import { ToolportError } from "./toolport-error.js";

/**
 * - `protocol`: the request or the response violates MCP, or the server responded with a JSON-RPC error.
 * - `transport`: the server could not be reached, the connection was lost, or no response arrived in time. (The specification
 *   only distinguishes protocol errors from results with `isError`.)
 * - `domain`: the tool ran and reported failure, or the requested item does not exist or is not allowed.
 * - `auth`: the server requires authorization.
 * - `cancelled`: the caller aborted the request.
 */
export type ErrorType = "protocol" | "transport" | "domain" | "auth" | "cancelled" | "unknown";

/** The classification of a failure. */
export interface ErrorClassification {
  type: ErrorType;
  /** Code of the `ToolportError`, or `TOOL_ERROR` for a result with `isError`. */
  code: string;
  /** A retry on the same server can help, if it is safe (see `ToolportError.outcome`). */
  retryable: boolean;
  /** A fallback server can help, if it is safe. */
  useFallback: boolean;
  message: string;
}

/** Types by code; other errors have the type of their class. */
const TYPE_OF_CODE: ReadonlyMap<string, ErrorType> = new Map(
  Object.entries({
    cancelled: "ABORTED",
    transport: "TIMEOUT OVERLOADED",
    protocol: "PROTOCOL INVALID_ARGUMENTS INVALID_OUTPUT UNSUPPORTED_CONTENT",
    domain:
      "REFUSED TASK_CANCELLED TASK_LOST TOOL_NOT_FOUND RESOURCE_NOT_FOUND PROMPT_NOT_FOUND NOT_OFFERED TOOL_WITHHELD " +
      "TOOL_CHANGED",
  }).flatMap(([type, codes]) => codes.split(" ").map((code) => [code, type as ErrorType])),
);

const TYPE_OF_CLASS: Readonly<Record<string, ErrorType>> = {
  AuthError: "auth",
  ConnectionError: "transport",
};

/** Transport errors for which a fallback cannot help or must not be tried. */
const NOT_ELSEWHERE: readonly string[] = ["MESSAGE_TOO_LARGE", "ADDRESS_REFUSED"];

/** The type of an error that combines several: theirs, if they agree. */
function commonType(errors: readonly unknown[]): ErrorType {
  const [type, ...others] = new Set(errors.map((error) => typeOf(toToolportError(error))));
  return others.length > 0 ? "unknown" : (type ?? "unknown");
}

function typeOf(error: ToolportError): ErrorType {
  const known = TYPE_OF_CODE.get(error.code) ?? TYPE_OF_CLASS[error.name];
  if (known !== undefined) return known;
  const attempts = readField(error, "attempts");
  if (Array.isArray(attempts) && attempts.length > 0) return commonType(attempts);
  if (error.errors.length > 0) return commonType(error.errors);
  return ToolportError.isInstance(error.cause) ? typeOf(error.cause) : "unknown";
}

function textOf(result: unknown): string {
  const content = readField(result, "content");
  if (!Array.isArray(content)) return "";
  const texts = content.map((block) => readField(block, "text")).filter((text) => typeof text === "string");
  return redactText(texts.join("\n"));
}

/**
 * Classifies anything that was thrown, a JSON-RPC error object, or the result of a tool call.
 *
 * @example
 * ```ts
 * const { type, retryable } = classifyError(error);
 * if (type === "auth") showLogin();
 * ```
 */
export function classifyError(errorOrResult: unknown): ErrorClassification {
  if (!ToolportError.isInstance(errorOrResult) && readField(errorOrResult, "isError") === true) {
    const message = textOf(errorOrResult) || "The tool reported an error";
    return { type: "domain", code: "TOOL_ERROR", retryable: false, useFallback: false, message };
  }
  const error = toToolportError(errorOrResult);
  const type = typeOf(error);
  return {
    type,
    code: error.code,
    retryable: error.retryable,
    useFallback: error.retryable || (type === "transport" && !NOT_ELSEWHERE.includes(error.code)),
    message: error.message,
  };
}

/**
 * Whether a retry can help. Retry only if the request may run twice or certainly did not run.
 *
 * @example
 * ```ts
 * if (shouldRetry(error)) await pause(1_000);
 * ```
 */
export function shouldRetry(errorOrResult: unknown): boolean {
  return classifyError(errorOrResult).retryable;
}

function demandsAuthorization(error: unknown): boolean {
  if (ToolportError.isInstance(error) && error.code === "AUTH_REQUIRED") return true;
  if (hasBrand(error, "mcp.UnauthorizedError") || isNamed(error, "UnauthorizedError")) return true;
  return httpStatusOf(error) === 401 || readField(readField(error, "response"), "status") === 401;
}

/**
 * Whether an error, one of its causes or one of its combined errors means "authorization required".
 *
 * @example
 * ```ts
 * if (isUnauthorized(error)) return new Response("Authentication required", { status: 401 });
 * ```
 */
export function isUnauthorized(error: unknown): boolean {
  for (const found of walkErrors(error)) if (demandsAuthorization(found)) return true;
  return false;
}

/** Statuses of servers that do not support the requested transport. */
const NOT_IMPLEMENTED: readonly (number | undefined)[] = [404, 405, 501];

/** A 404 for an expired session is not about the transport. */
const isSessionLost = (error: unknown): boolean =>
  ToolportError.isInstance(error) && error.code === "SESSION_LOST";

/**
 * Whether an error, one of its causes or one of its attempts means "transport not supported" (HTTP 404, 405 or 501).
 *
 * @example
 * ```ts
 * if (isTransportNotImplemented(error)) return new Response("Transport not supported", { status: 400 });
 * ```
 */
export function isTransportNotImplemented(error: unknown): boolean {
  for (const found of walkErrors(error, isSessionLost)) {
    if (ToolportError.isInstance(found) && found.code === "TRANSPORT_NOT_SUPPORTED") return true;
    if (NOT_IMPLEMENTED.includes(httpStatusOf(found))) return true;
  }
  return false;
}
