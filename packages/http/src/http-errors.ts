/** Errors of HTTP exchanges: unexpected responses, and network failures with whether the request may have been sent. */

import {
  adviceOn,
  ConnectionError,
  isBeforeConnection,
  isPermanentFailure,
  outcomeOfStatus,
  ToolportError,
  toPlainText,
} from "@toolport/base";

const EXCERPT_CHARS = 200;
/** Redaction shortens long secrets: redact enough of the body that a secret at the cut is not shown in the excerpt. */
const MAX_REDACTED_BYTES = 64 * 1024;
const decoder = new TextDecoder();

/** What an error needs of a response. */
interface ResponseHead {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
}

/** Redacts secrets in a text. */
export type Redact = (text: string) => string;

/** The beginning of a body, for an error message. */
function excerpt(bytes: Uint8Array, redact: Redact): string {
  // Redact before shortening: half a secret is still a secret.
  const text = redact(toPlainText(decoder.decode(bytes.subarray(0, MAX_REDACTED_BYTES))));
  return text.replace(/\s+/g, " ").trim().slice(0, EXCERPT_CHARS);
}

const quoted = (text: string): string => (text === "" ? "" : `: ${text}`);

/** The error for a status that concerns neither the session nor the credentials. */
export function statusError(response: ResponseHead, bytes: Uint8Array, redact: Redact): ConnectionError {
  const { status } = response;
  const busy = status === 429 || status === 503;
  const transient = busy || status >= 500;
  return new ConnectionError({
    code: "HTTP_STATUS",
    what: `The server answered with HTTP ${status}${quoted(excerpt(bytes, redact))}`,
    next: busy ? "The server is busy; try again later" : "See the server's log",
    status,
    retryAfterMs: parseRetryAfter(response.headers.get("retry-after")),
    retryable: transient,
    outcome: outcomeOfStatus(status, { inSession: false }),
  });
}

/** The session is unknown to the server: a new handshake is needed. The status says whether this request may have run. */
export function sessionLost(status: number): ConnectionError {
  return new ConnectionError({
    code: "SESSION_LOST",
    what: `The server no longer knows this session (HTTP ${status})`,
    next: "A new session is needed",
    status,
    retryable: true,
    outcome: outcomeOfStatus(status, { inSession: true }),
  });
}

/** @param why what is wrong, as the end of a sentence */
export function badResponse({
  response,
  why,
  bytes,
  redact,
}: {
  response: ResponseHead;
  why: string;
  bytes?: Uint8Array | undefined;
  redact: Redact;
}): ConnectionError {
  const type = toPlainText(response.headers.get("content-type") ?? "none").slice(0, 100);
  const shown = bytes === undefined ? "" : quoted(excerpt(bytes, redact));
  return new ConnectionError({
    code: "BAD_RESPONSE",
    what: `The server's response ${why} (HTTP ${response.status}, content type ${type})${shown}`,
    next: "Check that the URL is an MCP endpoint, and that no proxy or sign-in page intercepts it",
    status: response.status,
  });
}

export function tooLarge(maxBytes: number): ConnectionError {
  return new ConnectionError({
    code: "MESSAGE_TOO_LARGE",
    what: `The server sent a message larger than ${maxBytes} bytes`,
    next: "Request less data at a time, or raise the limit",
  });
}

/** Longer waits are shortened to this. */
const MAX_RETRY_AFTER_MS = 30_000;

/** Reads `Retry-After` (seconds or an HTTP date); undefined if it is invalid. */
export function parseRetryAfter(value: string | null, now: number = Date.now()): number | undefined {
  const text = value?.trim();
  if (text === undefined || text === "") return undefined;
  if (/^\d+$/.test(text)) return Math.min(Number(text) * 1_000, MAX_RETRY_AFTER_MS);
  // A date starts with a letter. `Date.parse` alone would also accept "-1" or "1.5".
  if (!/^[A-Za-z]/.test(text)) return undefined;
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : Math.min(Math.max(at - now, 0), MAX_RETRY_AFTER_MS);
}

/** Bun's codes for a failed connection. */
const BUN_CODES: readonly unknown[] = ["ConnectionRefused", "FailedToOpenSocket"];

type CodedError = Error & { readonly code: string };

/** The error with a code, which runtimes nest at different depths. */
function codedError(error: unknown): CodedError | undefined {
  for (let at: unknown = error, depth = 0; at instanceof Error && depth < 4; depth++) {
    const { code, cause, errors } = at as Error & { code?: unknown; errors?: unknown };
    if (typeof code === "string") return at as CodedError;
    at = cause ?? (Array.isArray(errors) ? errors[0] : undefined);
  }
  return undefined;
}

/**
 * Converts an error of a network client. A ToolportError is returned unchanged.
 *
 * @param host with its port, without path and query
 * @param sent false if no byte of the request was sent; undefined if that is unknown
 */
export function toNetworkError(
  error: unknown,
  { host, sent }: { host: string; sent: boolean | undefined },
): ToolportError {
  if (ToolportError.isInstance(error)) return error;
  const coded = codedError(error);
  const errno = coded?.code;
  const unsent = sent === undefined ? isBeforeConnection(coded) || BUN_CODES.includes(errno) : !sent;
  const reason = errno === undefined ? "" : ` (${errno})`;
  return new ConnectionError({
    code: "UNREACHABLE",
    what: unsent ? `${host} cannot be reached${reason}` : `The connection to ${host} broke${reason}`,
    next: errno === undefined ? undefined : adviceOn(errno),
    errno,
    // A certificate error does not go away with a retry.
    retryable: errno === undefined || !isPermanentFailure(errno),
    outcome: unsent ? "unsent" : "unknown",
    cause: error,
  });
}

/** The error of requests that were waiting when the client was closed, or come after that. */
export function clientClosed(unsent: boolean, cause?: unknown): ConnectionError {
  return new ConnectionError({
    code: "CLOSED",
    what: "The network client was closed",
    outcome: unsent ? "unsent" : "unknown",
    cause,
  });
}

/** The server neither accepted nor refused the connection in time. */
export function connectTimedOut(host: string, timeoutMs: number): ConnectionError {
  return new ConnectionError({
    code: "UNREACHABLE",
    what: `${host} did not accept a connection in ${timeoutMs} ms`,
    next: adviceOn("UND_ERR_CONNECT_TIMEOUT"),
    errno: "ETIMEDOUT",
    retryable: true,
    outcome: "unsent",
  });
}
