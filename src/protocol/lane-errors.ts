/** Why a request on the lane has no answer. */
import { ConnectionError } from "../errors/connection-error.js";
import type { Outcome, ToolportError } from "../errors/toolport-error.js";

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
