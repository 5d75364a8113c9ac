/** Runs an operation on the session of a server, and once more on a new session if that is safe. */
import { secretsOf } from "../config/known-secrets.js";
import type { ServerConfig } from "../config/server-config.js";
import { AuthError } from "../errors/auth-error.js";
import { ConnectionError } from "../errors/connection-error.js";
import { ToolCallError } from "../errors/tool-call-error.js";
import { afterUnknown, type ToolportError } from "../errors/toolport-error.js";
import type { Session } from "../protocol/session.js";
import type { Resends } from "../transports/resends.js";
import { pause } from "../util/sleep.js";
import type { WaitOptions } from "./connection-state.js";

/** Whether a connection is in use, and how long it has been idle. */
export class Usage {
  #users = 0;
  #idleSince = 0;

  /** 0 while the connection is in use. */
  get idleMs(): number {
    return this.#users === 0 ? performance.now() - this.#idleSince : 0;
  }

  /** Marks the connection as used until `end()` is called. */
  begin(): void {
    this.#users += 1;
  }

  end(): void {
    this.#users -= 1;
    if (this.#users === 0) this.touch();
  }

  /** Restarts the idle time. */
  touch(): void {
    this.#idleSince = performance.now();
  }
}

/** The part of a connection that is needed to run something on its session. */
interface SessionOwner {
  readonly config: ServerConfig;
  /** This connection, or the one that has replaced it. */
  readonly current: SessionOwner;
  readonly usage: Usage;
  /** Undefined unless the connection is ready. */
  readonly session: Session | undefined;
  acquire(options: WaitOptions & { patient?: boolean | undefined }): Promise<Session>;
  renew(session: Session, error: ToolportError): void;
  /** Forgets the remembered era of the server, and opens a new session. */
  renegotiate(session: Session, error: ToolportError): Promise<void>;
}

export interface RunOptions {
  /** The operation may run twice: reads, and idempotent calls. */
  repeatable: boolean;
  /** How often the request may be sent again. @default no limit */
  resends?: Resends | undefined;
  /** How long to wait for a server that is reconnecting. */
  waitMs: number;
  /** False to fail at once if the server is reconnecting, because a fallback server is left. @default true */
  patient?: boolean | undefined;
  signal?: AbortSignal | undefined;
}

const CLOSING_MS = 500;

/** JSON-RPC codes that some servers use instead of an HTTP status. Trusted only on a connection with a session id. */
const SESSION_CODES = new Set([-32001, -32600]);

function isSessionLost(error: ToolportError, session: Session): boolean {
  if (error instanceof ConnectionError) return error.code === "SESSION_LOST";
  if (!(error instanceof ToolCallError) || error.rpcCode === undefined) return false;
  if (session.transport !== "http" || !SESSION_CODES.has(error.rpcCode)) return false;
  return session.hasSessionId;
}

/** Marks the error as retryable: the next attempt uses a new session. */
function retryableIfLost(error: ToolportError, session: Session): ToolportError {
  if (!(error instanceof ToolCallError) || error.retryable || !isSessionLost(error, session)) return error;
  const { code, what, next, server, tool, outcome, rpcCode, rpcMessage, data } = error;
  const init = { code, what, next, server, tool, outcome, rpcCode, rpcMessage, data };
  return new ToolCallError({ ...init, retryable: true, cause: error });
}

/** The session cannot be used any more, although the connection may not have noticed yet. */
export function isLost(error: ToolportError, session: Session): boolean {
  if (isSessionLost(error, session)) return true;
  // 403: the token is valid, but not for this request. Other requests can still use the session.
  if (error instanceof AuthError) return error.code === "AUTH_REQUIRED" && error.status !== 403;
  return isClosing(error) || (error instanceof ConnectionError && error.code === "UNREACHABLE");
}

const isClosing = (error: ToolportError): boolean =>
  error instanceof ConnectionError && error.code === "CLOSED";

/** The connection failed, not the request: worth one more attempt on a new session. */
function isWayError(error: ToolportError, session: Session): boolean {
  if (isSessionLost(error, session)) return true;
  return error instanceof ConnectionError && ["UNREACHABLE", "CLOSED", "STREAM_CUT"].includes(error.code);
}

/** Error codes and statuses of a server that no longer supports the era it is remembered for. */
function isRefusedEra(error: ToolportError): boolean {
  if (error instanceof ToolCallError) return [-32600, -32601, -32022, -32000].includes(error.rpcCode ?? 0);
  return error instanceof ConnectionError && [400, 404, 405, 406, 415, 422].includes(error.status ?? 0);
}

/**
 * Runs `operation`. If the session is lost, opens a new one (shared by all waiting callers) and runs the operation again,
 * provided that the server cannot have run it, or that it may run twice.
 */
export async function runOnSession<Result>(
  owner: SessionOwner,
  operation: (session: Session) => Promise<Result>,
  options: RunOptions,
): Promise<Result> {
  // An idle connection may have been replaced since the caller got it.
  const connection = owner.current;
  const { waitMs, signal, patient } = options;
  const deadline = performance.now() + waitMs;
  const acquire = () =>
    connection.acquire({ signal, patient, timeoutMs: Math.max(0, deadline - performance.now()) });
  connection.usage.begin();
  try {
    const session = connection.session ?? (await acquire());
    try {
      return await operation(session);
    } catch (error) {
      // After an abort, the caller gets the reason of its own signal.
      if (signal?.aborted) throw error;
      const failure = error as ToolportError;
      await heal(connection, failure, session, options);
      try {
        return await operation(await acquire());
      } catch (later) {
        // The first run may have had an effect, whatever the second one says.
        throw failure.outcome === "unsent" ? later : afterUnknown(later);
      }
    }
  } catch (failure) {
    // Errors about invalid responses are created above the transport, so they are redacted here.
    throw secretsOf(connection.config).redactError(failure);
  } finally {
    connection.usage.end();
  }
}

/** Throws the error, unless the operation may run once more on another session. */
async function heal(
  connection: SessionOwner,
  failure: ToolportError,
  session: Session,
  options: RunOptions,
): Promise<void> {
  // The transport closes slightly before the session does, and only the session knows the cause: wait for it briefly.
  if (isClosing(failure)) await Promise.race([session.closed, pause(CLOSING_MS)]);
  const isOtherEra = session.unproven && isRefusedEra(failure);
  if (isOtherEra) await connection.renegotiate(session, failure);
  else if (isLost(failure, session)) connection.renew(session, failure);
  const isSafe = failure.outcome === "unsent" || options.repeatable;
  const isWorthIt = isSafe && (isOtherEra || isWayError(failure, session));
  const { resends } = options;
  const take = () => (isSessionLost(failure, session) ? resends?.takeHealing() : resends?.take());
  if (!isWorthIt || take() === false) throw retryableIfLost(failure, session);
}
