/** Runs something on a server's session and heals what can be healed without guessing. */
import { secretsOf } from "../config/known-secrets.js";
import type { ServerConfig } from "../config/server-config.js";
import { AuthError } from "../errors/auth-error.js";
import { ConnectionError } from "../errors/connection-error.js";
import { ToolCallError } from "../errors/tool-call-error.js";
import { afterUnknown, type ToolportError } from "../errors/toolport-error.js";
import type { Session } from "../protocol/session.js";
import type { Resends } from "../transports/resends.js";
import { pause } from "../util/sleep.js";
import type { WaitOptions } from "./connection-parts.js";

/** Whether a connection is in use, and how long it has been idle. */
export class Usage {
  #users = 0;
  #idleSince = 0;

  /** 0 while the connection is in use. */
  get idleMs(): number {
    return this.#users === 0 ? performance.now() - this.#idleSince : 0;
  }

  /** Marks the connection as used until the returned function is called. */
  begin(): () => void {
    this.#users += 1;
    return () => {
      this.#users -= 1;
      if (this.#users === 0) this.touch();
    };
  }

  /** Restarts the idle time. */
  touch(): void {
    this.#idleSince = performance.now();
  }
}

/** The part of a connection that is needed to run something on its session. */
interface SessionOwner {
  readonly config: ServerConfig;
  readonly usage: Usage;
  /** Undefined unless the connection is ready. */
  readonly session: Session | undefined;
  acquire(options: WaitOptions & { patient?: boolean | undefined }): Promise<Session>;
  renew(session: Session, error: ToolportError): void;
}

export interface RunOptions {
  /** May run twice: reads, and calls whose caller says so. */
  repeatable: boolean;
  /** How often it may be sent again. @default no limit */
  resends?: Resends | undefined;
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
export function isLost(error: ToolportError, session: Session): boolean {
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

/** One operation, and what is needed to run it again. */
interface Run<Result> extends RunOptions {
  readonly connection: SessionOwner;
  readonly operation: (session: Session) => Promise<Result>;
  /** When the wait for a server that is coming back must be over (`performance.now()`). */
  readonly deadline: number;
}

/**
 * Runs `operation`. When the session turns out to be lost, one new one is made (shared by all who wait) and the
 * operation runs again, provided that the server cannot have run it, or that running it twice is allowed.
 */
export function runOnSession<Result>(
  connection: SessionOwner,
  operation: (session: Session) => Promise<Result>,
  options: RunOptions,
): Promise<Result> {
  const { session } = connection;
  const startedAt = performance.now();
  const release = connection.usage.begin();
  const run = (): Run<Result> => ({
    ...options,
    connection,
    operation,
    deadline: startedAt + options.waitMs,
  });
  // Nearly always there is a session and it works: then nothing more is made than one promise.
  const first = session === undefined ? runWhenReady(run()) : begin(operation, session);
  return first.then(
    (result) => {
      release();
      return result;
    },
    (error: unknown) => {
      const ended = session === undefined ? Promise.reject(error) : again(run(), error, session);
      return ended.finally(release).catch((failure: unknown) => {
        // Errors about an answer that is none are made above the wire.
        throw secretsOf(connection.config).redactError(failure);
      });
    },
  );
}

async function runWhenReady<Result>(run: Run<Result>): Promise<Result> {
  const session = await acquire(run);
  return begin(run.operation, session).catch((error: unknown) => again(run, error, session));
}

function begin<Result>(operation: (session: Session) => Promise<Result>, session: Session): Promise<Result> {
  try {
    return operation(session);
  } catch (error) {
    return Promise.reject(error);
  }
}

function acquire<Result>({ connection, signal, patient, deadline }: Run<Result>): Promise<Session> {
  return connection.acquire({ signal, patient, timeoutMs: Math.max(0, deadline - performance.now()) });
}

async function again<Result>(run: Run<Result>, error: unknown, session: Session): Promise<Result> {
  // A caller's abort is nobody's fault.
  if (run.signal?.aborted) throw error;
  const failure = error as ToolportError;
  await heal(run, failure, session);
  try {
    return await run.operation(await acquire(run));
  } catch (later) {
    throw failure.outcome === "unsent" ? later : afterUnknown(later);
  }
}

/** Throws the error, unless the operation may be tried once more on another session. */
async function heal<Result>(run: Run<Result>, failure: ToolportError, session: Session): Promise<void> {
  // The transport knows that it is closing before the session is closed, and only then why: give it a moment.
  if (isClosing(failure)) await Promise.race([session.closed, pause(CLOSING_MS)]);
  if (isLost(failure, session)) run.connection.renew(session, failure);
  const safe = failure.outcome === "unsent" || run.repeatable;
  if (!safe || !isWayError(failure, session) || !mayResend(run, failure, session))
    throw retryableIfLost(failure, session);
}

function mayResend({ resends }: RunOptions, failure: ToolportError, session: Session): boolean {
  if (resends === undefined) return true;
  return isSessionLost(failure, session) ? resends.takeHealing() : resends.take();
}
