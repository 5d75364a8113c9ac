/** Runs something on a server's session and heals what can be healed without guessing. */
import { AuthError } from "../errors/auth-error.js";
import { ConnectionError } from "../errors/connection-error.js";
import { ToolCallError } from "../errors/tool-call-error.js";
import type { ToolportError } from "../errors/toolport-error.js";
import type { Session } from "../protocol/session.js";
import { pause } from "../util/sleep.js";
import type { ServerConnection } from "./server-connection.js";

export interface RunOptions {
  /** May run twice: reads, and calls whose caller says so. */
  repeatable: boolean;
  /** Longest wait for a server that is coming back. */
  waitMs: number;
  /** Wait at all for a server that was lost? False when another server can be asked. @default true */
  patient?: boolean | undefined;
  signal?: AbortSignal | undefined;
}

const CLOSING_MS = 500;

/** Servers that say so by JSON-RPC code instead of by HTTP status: only believed on a connection that has a session. */
const SESSION_CODES = new Set([-32001, -32600]);

function isSessionLost(error: ToolportError, session: Session): boolean {
  if (error instanceof ConnectionError) return error.code === "SESSION_LOST";
  if (!(error instanceof ToolCallError) || error.rpcCode === undefined) return false;
  if (session.transport !== "http" || !SESSION_CODES.has(error.rpcCode)) return false;
  return session.hasSessionId;
}

/** The server's own words, but not its last: the next try is on a new session. */
function retryableIfLost(error: ToolportError, session: Session): ToolportError {
  if (!(error instanceof ToolCallError) || error.retryable || !isSessionLost(error, session)) return error;
  const { code, what, next, server, tool, outcome, rpcCode, data } = error;
  const init = { code, what, next, server, tool, outcome, rpcCode, data };
  return new ToolCallError({ ...init, retryable: true, cause: error });
}

/** The session cannot be used any more, and the connection may not know it yet. */
function isLost(error: ToolportError, session: Session): boolean {
  if (isSessionLost(error, session)) return true;
  // 403: the token is good, only not for this request. Everything else goes on with it.
  if (error instanceof AuthError) return error.code === "AUTH_REQUIRED" && error.status !== 403;
  return isClosing(error) || (error instanceof ConnectionError && error.code === "UNREACHABLE");
}

const isClosing = (error: ToolportError): boolean =>
  error instanceof ConnectionError && error.code === "CLOSED";

/** Worth one more go on a new session: the way was bad, not the request. */
function isWayError(error: ToolportError, session: Session): boolean {
  if (isSessionLost(error, session)) return true;
  return error instanceof ConnectionError && ["UNREACHABLE", "CLOSED", "STREAM_CUT"].includes(error.code);
}

/**
 * Runs `operation`. When the session turns out to be lost, one new one is made (shared by all who wait) and the
 * operation runs again, provided that the server cannot have run it, or that running it twice is allowed.
 */
export function runOnSession<Result>(
  connection: ServerConnection,
  operation: (session: Session) => Promise<Result>,
  { repeatable, waitMs, patient, signal }: RunOptions,
): Promise<Result> {
  const deadline = performance.now() + waitMs;
  const acquire = () =>
    connection.acquire({ signal, patient, timeoutMs: Math.max(0, deadline - performance.now()) });
  const release = connection.use();
  const { session } = connection;
  // Nearly always there is a session and it works: then nothing more is made than one promise.
  if (session !== undefined) return run(session);
  return acquire().then(run, (error: unknown) => {
    release();
    throw error;
  });

  function run(on: Session): Promise<Result> {
    return begin(on).then(
      (result) => {
        release();
        return result;
      },
      (error: unknown) => again(error, on).finally(release),
    );
  }

  function begin(on: Session): Promise<Result> {
    try {
      return operation(on);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  async function again(error: unknown, on: Session): Promise<Result> {
    // A caller's abort is nobody's fault.
    if (signal?.aborted) throw error;
    await heal(error as ToolportError, on);
    return operation(await acquire());
  }

  /** Throws the error, unless the operation may be tried once more on another session. */
  async function heal(failure: ToolportError, session: Session): Promise<void> {
    // The transport knows that it is closing before the session is closed, and only then why: give it a moment.
    if (isClosing(failure)) await Promise.race([session.closed, pause(CLOSING_MS)]);
    if (isLost(failure, session)) connection.renew(session, failure);
    const safe = failure.outcome === "unsent" || repeatable;
    if (!safe || !isWayError(failure, session)) throw retryableIfLost(failure, session);
  }
}
