/** Answers that are no answers, as errors that show what came instead. */
import { ConnectionError } from "../../../errors/connection-error.js";
import { outcomeOfStatus } from "../../../errors/from-http-status.js";
import { toPlainText } from "../../stdio/to-plain-text.js";
import { parseRetryAfter } from "./retry-after.js";
import type { WireAnswer } from "./wire.js";

const EXCERPT_CHARS = 200;
/** Long secrets shrink when they are redacted: enough of the body is looked at that the cut does not come into sight. */
const MAX_REDACTED_BYTES = 64 * 1024;
const decoder = new TextDecoder();

/** Takes what must not be shown out of a text. */
export type Redact = (text: string) => string;

/** The beginning of a body, fit for an error message. */
function excerpt(bytes: Uint8Array, redact: Redact): string {
  // Redacted before it is shortened: half a secret is still a secret.
  const text = redact(toPlainText(decoder.decode(bytes.subarray(0, MAX_REDACTED_BYTES))));
  return text.replace(/\s+/g, " ").trim().slice(0, EXCERPT_CHARS);
}

const quoted = (text: string): string => (text === "" ? "" : `: ${text}`);

/** The error for a status that is about neither the session nor the credentials. */
export function statusError(answer: WireAnswer, bytes: Uint8Array, redact: Redact): ConnectionError {
  const { status } = answer;
  const busy = status === 429 || status === 503;
  const transient = busy || status >= 500;
  return new ConnectionError({
    code: "HTTP_STATUS",
    what: `The server answered with HTTP ${status}${quoted(excerpt(bytes, redact))}`,
    next: busy ? "The server is busy; try again later" : "See the server's log",
    status,
    retryAfterMs: parseRetryAfter(answer.headers.get("retry-after")),
    retryable: transient,
    outcome: outcomeOfStatus(status, { inSession: false }),
  });
}

/** The session is gone: a new handshake is needed. The status says whether this request can have run. */
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

export interface BadResponse {
  readonly answer: WireAnswer;
  /** What is wrong, as the end of a sentence. */
  readonly why: string;
  readonly bytes?: Uint8Array | undefined;
  readonly redact: Redact;
}

export function badResponse({ answer, why, bytes, redact }: BadResponse): ConnectionError {
  const type = toPlainText(answer.headers.get("content-type") ?? "none").slice(0, 100);
  const shown = bytes === undefined ? "" : quoted(excerpt(bytes, redact));
  return new ConnectionError({
    code: "BAD_RESPONSE",
    what: `The server's answer ${why} (HTTP ${answer.status}, content type ${type})${shown}`,
    next: "Check that the URL is an MCP endpoint and that no proxy or sign-in page stands before it",
    status: answer.status,
  });
}

export function tooLarge(maxBytes: number): ConnectionError {
  return new ConnectionError({
    code: "MESSAGE_TOO_LARGE",
    what: `A message of the server's is larger than ${maxBytes} bytes`,
    next: "Ask for less at a time, or raise the limit",
  });
}
