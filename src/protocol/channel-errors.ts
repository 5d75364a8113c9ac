/** Errors of requests that get no response because of their connection. */

import type { Outcome, ToolportError } from "../errors/toolport-error.js";
import { ConnectionError } from "../errors/toolport-error.js";

/** Codes that only say that the connection is lost. */
const LOSSES: ReadonlySet<string> = new Set(["CLOSED", "STREAM_CUT", "SESSION_LOST"]);

/** What was invalid: something the transport read, or a response to no open request. */
export type InvalidMessageSource = "transport" | "response";

/** The server sent something that is not a message, or a message that is too large. */
export const isInvalidMessage = (error: Error): error is ConnectionError =>
  error instanceof ConnectionError && (error.code === "BAD_RESPONSE" || error.code === "MESSAGE_TOO_LARGE");

/** Replaces the advice of an error about a lost connection; the transport does not know whether Toolport reconnects. */
export function withAdvice(
  error: ToolportError | undefined,
  next: string | undefined,
): ToolportError | undefined {
  return next === undefined || error === undefined || !LOSSES.has(error.code) ? error : error.withNext(next);
}

export interface ConnectionEnd {
  readonly outcome: Outcome;
  /** What to do next. @default call again */
  readonly next: string | undefined;
  readonly cause: ToolportError | undefined;
}

export function connectionClosed(
  server: string,
  { outcome, next = "Call again to use the new connection", cause }: ConnectionEnd,
): ConnectionError {
  return new ConnectionError({
    code: "CLOSED",
    server,
    what: "The connection is closed",
    next,
    retryable: true,
    outcome,
    cause,
  });
}

export function responseCut(server: string): ConnectionError {
  return new ConnectionError({
    code: "STREAM_CUT",
    server,
    what: "The response stream ended before the response arrived",
    next: "Call again if the call may run twice",
    retryable: true,
  });
}

export function closedDuringInput(server: string): ConnectionError {
  return new ConnectionError({
    code: "CLOSED",
    server,
    what: "The connection was closed while the server waited for input",
    next: "Call again",
    retryable: true,
  });
}
