/** Says of an error, or of a result that reports one, what kind it is and what may be done about it. */
import { redactText } from "../util/redact-text.js";
import { readField } from "./foreign-error.js";
import { toToolportError } from "./to-toolport-error.js";
import { ToolportError } from "./toolport-error.js";

/**
 * - `protocol`: the request or the answer does not follow MCP, or the server answered with a JSON-RPC error.
 * - `transport`: the server could not be reached, was lost or did not answer in time. (A notion of the client's; the
 *   specification only separates protocol errors from results with `isError`.)
 * - `domain`: the tool ran and reports failure, or what was asked for is not there or not allowed.
 * - `auth`: somebody has to authorize first.
 * - `cancelled`: the caller gave up.
 */
export type ErrorType = "protocol" | "transport" | "domain" | "auth" | "cancelled" | "unknown";

/** What is known about a failure. */
export interface ErrorClassification {
  type: ErrorType;
  /** Code of the `ToolportError`, or `TOOL_ERROR` for a result with `isError`. */
  code: string;
  /** Trying the same server again can help, if that is safe (see `ToolportError.outcome`). */
  retryable: boolean;
  /** Another server can be asked instead, if that is safe. */
  useFallback: boolean;
  message: string;
}

/** Types by code where the class of an error does not say it. */
const TYPE_OF_CODE: Readonly<Record<string, ErrorType>> = {
  ABORTED: "cancelled",
  TIMEOUT: "transport",
  OVERLOADED: "transport",
  PROTOCOL: "protocol",
  INVALID_ARGUMENTS: "protocol",
  INVALID_OUTPUT: "protocol",
  UNSUPPORTED_CONTENT: "protocol",
  REFUSED: "domain",
  TASK_CANCELLED: "domain",
  TASK_LOST: "domain",
  TOOL_NOT_FOUND: "domain",
  RESOURCE_NOT_FOUND: "domain",
  PROMPT_NOT_FOUND: "domain",
  NOT_OFFERED: "domain",
  TOOL_WITHHELD: "domain",
  TOOL_CHANGED: "domain",
};

const TYPE_OF_CLASS: Readonly<Record<string, ErrorType>> = {
  AuthError: "auth",
  ConnectionError: "transport",
};

/** Troubles of the way to one server that another server would not cure, or must not be asked about. */
const NOT_ELSEWHERE: readonly string[] = ["MESSAGE_TOO_LARGE", "ADDRESS_REFUSED"];

/** An error that stands for several is of their type, if they agree. */
function commonType(errors: readonly unknown[]): ErrorType {
  const [type, ...others] = new Set(errors.map((error) => typeOf(toToolportError(error))));
  return others.length > 0 ? "unknown" : (type ?? "unknown");
}

function typeOf(error: ToolportError): ErrorType {
  const byCode = Object.hasOwn(TYPE_OF_CODE, error.code) ? TYPE_OF_CODE[error.code] : undefined;
  const known = byCode ?? TYPE_OF_CLASS[error.name];
  if (known !== undefined) return known;
  const attempts = readField(error, "attempts");
  if (Array.isArray(attempts) && attempts.length > 0) return commonType(attempts);
  if (error.errors.length > 0) return commonType(error.errors);
  return ToolportError.isInstance(error.cause) ? typeOf(error.cause) : "unknown";
}

/** The text of a result, as far as it has some. */
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
