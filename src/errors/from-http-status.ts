/** Converts HTTP error statuses. */
import { AuthError } from "./auth-error.js";
import { ConnectionError } from "./connection-error.js";
import type { ErrorContext, Outcome, ToolportError } from "./toolport-error.js";

/** Statuses of temporary failures. */
const TRANSIENT: readonly number[] = [408, 425, 429, 500, 502, 503, 504];

/**
 * Statuses that mean that the request did not run. 404 means that only for a request with a session id. 503 never does, with
 * or without `Retry-After`: proxies send it when an upstream connection broke in the middle of a request.
 */
export const REFUSING_STATUSES: readonly number[] = [401, 403, 405, 406, 413, 415, 429];

/** Whether the server may have run a request that got this status. */
export function outcomeOfStatus(status: number, { inSession }: { inSession: boolean }): Outcome {
  return REFUSING_STATUSES.includes(status) || (status === 404 && inSession) ? "unsent" : "unknown";
}

const ADVICE: Readonly<Record<number, string>> = {
  404: "Check the path of the URL",
  405: "Check the path of the URL, and whether the server supports this transport",
  429: "Call the server less often, or wait",
};

function advise(status: number): string | undefined {
  return ADVICE[status] ?? (status >= 500 ? "Check the log of the server" : undefined);
}

export function fromHttpStatus(status: number, cause: unknown, context: ErrorContext): ToolportError {
  const outcome = context.phase === "connect" ? "unsent" : outcomeOfStatus(status, { inSession: false });
  if (status === 401 || status === 403) {
    const isMissing = status === 401;
    return new AuthError({
      ...context,
      code: isMissing ? "AUTH_REQUIRED" : "FORBIDDEN",
      what: isMissing
        ? "The server requires authorization (HTTP 401)"
        : "The server denied access (HTTP 403)",
      next: isMissing ? "Authorize, or check the token in its headers" : "Request access for this account",
      outcome,
      status,
      cause,
    });
  }
  return new ConnectionError({
    ...context,
    code: "HTTP_STATUS",
    what: `The server answered with HTTP ${status}`,
    next: advise(status),
    retryable: TRANSIENT.includes(status),
    outcome,
    status,
    cause,
  });
}
