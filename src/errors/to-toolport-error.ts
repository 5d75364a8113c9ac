/** Converts anything thrown to a `ToolportError`, by brands, codes and statuses, never by message text. */
import { redactText } from "../util/redact-text.js";
import { hasBrand, readField } from "./foreign-error.js";
import { fromSdkError } from "./from-sdk-error.js";
import { fromSystemError } from "./from-system-error.js";
import { ToolCallError } from "./tool-call-error.js";
import { type ErrorContext, ToolportError } from "./toolport-error.js";

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
