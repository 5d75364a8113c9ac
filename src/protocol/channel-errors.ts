/** Why a request on the lane has no answer. */
import { ConnectionError } from "../errors/connection-error.js";
import type { Outcome, ToolportError } from "../errors/toolport-error.js";
import type { GiveUpReason } from "../transports/server-transport.js";

/** The reason in the cancellation of a request. */
export const REASONS: Readonly<Record<GiveUpReason, string>> = {
  abort: "The caller aborted the request",
  timeout: "The request timed out",
};

/** Errors that say nothing but that the connection is gone. */
const LOSSES: ReadonlySet<string> = new Set(["CLOSED", "STREAM_CUT", "SESSION_LOST"]);

/** What the server sent is no message, or too large to be one. */
/** Where something odd was found: in what the transport read, or in an answer. */
export type OddSource = "transport" | "answer";

export const isOddity = (error: Error): error is ConnectionError =>
  error instanceof ConnectionError && (error.code === "BAD_RESPONSE" || error.code === "MESSAGE_TOO_LARGE");

/** Transports do not know whether there will be another connection; where there will be none, the advice is another. */
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

export function answerCut(server: string): ConnectionError {
  return new ConnectionError({
    code: "STREAM_CUT",
    server,
    what: "The answer's stream ended before the answer",
    next: "Call again if it is safe to run twice",
    retryable: true,
  });
}
