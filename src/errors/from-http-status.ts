/** Failures a server reports by the status of its HTTP answer. */
import { AuthError } from "./auth-error.js";
import { ConnectionError } from "./connection-error.js";
import type { ErrorContext, Outcome, ToolportError } from "./toolport-error.js";

/** Statuses that pass by themselves. */
const TRANSIENT: readonly number[] = [408, 425, 429, 500, 502, 503, 504];

/**
 * Statuses that refuse a request before any work. A 404 does so only for a request with a session id. 503 does not, with
 * `Retry-After` or without: proxies send it after an upstream connection broke in the middle of a request.
 */
export const REFUSING_STATUSES: readonly number[] = [401, 403, 405, 406, 413, 415, 429];

/** Whether a server that answers with this status can have run the request. */
export function outcomeOfStatus(status: number, { inSession }: { inSession: boolean }): Outcome {
  return REFUSING_STATUSES.includes(status) || (status === 404 && inSession) ? "unsent" : "unknown";
}

const ADVICE: Readonly<Record<number, string>> = {
  404: "Check the path of its URL",
  405: "Check the path of its URL, and whether the server speaks this transport",
  429: "Call it less often, or wait",
};

function advise(status: number): string | undefined {
  return ADVICE[status] ?? (status >= 500 ? "Look at the server's own log" : undefined);
}

/** The error for an HTTP status that is not a success. */
export function fromHttpStatus(status: number, cause: unknown, context: ErrorContext): ToolportError {
  const outcome = context.phase === "connect" ? "unsent" : outcomeOfStatus(status, { inSession: false });
  if (status === 401 || status === 403) {
    const asked = status === 401;
    return new AuthError({
      ...context,
      code: asked ? "AUTH_REQUIRED" : "FORBIDDEN",
      what: asked ? "The server wants authorization (HTTP 401)" : "The server denied access (HTTP 403)",
      next: asked ? "Authorize, or check the token in its headers" : "Ask for access with this account",
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
