/** Whether a session is lost: by the error of a request, or because its server is silent. */
import {
  AuthError,
  ConnectionError,
  pause,
  ToolCallError,
  type ToolportError,
  toToolportError,
} from "@toolport/base";
import type { Session } from "../protocol/session.js";

/** JSON-RPC codes that some servers use instead of an HTTP status. Trusted only on a connection with a session id. */
const SESSION_CODES = new Set([-32001, -32600]);

export function isSessionLost(error: ToolportError, session: Session): boolean {
  if (error instanceof ConnectionError) return error.code === "SESSION_LOST";
  if (!(error instanceof ToolCallError) || error.rpcCode === undefined) return false;
  if (session.transport !== "http" || !SESSION_CODES.has(error.rpcCode)) return false;
  return session.hasSessionId;
}

/** Marks the error as retryable: the next attempt uses a new session. */
export function retryableIfLost(error: ToolportError, session: Session): ToolportError {
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

export const isClosing = (error: ToolportError): boolean =>
  error instanceof ConnectionError && error.code === "CLOSED";

/** The connection failed, not the request: worth one more attempt on a new session. */
export function isConnectionFailure(error: ToolportError, session: Session): boolean {
  if (isSessionLost(error, session)) return true;
  return error instanceof ConnectionError && ["UNREACHABLE", "CLOSED", "STREAM_CUT"].includes(error.code);
}

/** Error codes and statuses of a server that no longer supports the era it is remembered for. */
export function isRefusedEra(error: ToolportError): boolean {
  if (error instanceof ToolCallError) return [-32600, -32601, -32022, -32000].includes(error.rpcCode ?? 0);
  return error instanceof ConnectionError && [400, 404, 405, 406, 415, 422].includes(error.status ?? 0);
}

/** How long a server may take to answer a ping. */
export const PING_LIMIT_MS = 10_000;

/** How often a silent session is checked for new messages. */
const LOOK_EVERY_MS = 50;

/**
 * Pings the server. Resolves with the error if the session cannot be used any more, and with undefined if the server sends
 * anything: a response, an error, or any other message.
 */
export async function findLoss(session: Session, limitMs: number): Promise<ToolportError | undefined> {
  const before = session.received;
  try {
    await session.ping({ timeoutMs: limitMs, maxTimeoutMs: limitMs, quiet: true, background: true });
    return undefined;
  } catch (cause) {
    const error = toToolportError(cause, { server: session.server });
    // A closing connection reports its own error.
    if (session.received !== before || error.code === "CLOSED") return undefined;
    if (error.code === "TIMEOUT") return noSignOfLife(session.server, limitMs, error);
    return isLost(error, session) ? error : undefined;
  }
}

/**
 * A process is replaced only when none of its calls can be answered any more: it may be single-threaded and busy. Over a
 * network, calls on the old connection continue while a new one opens. Custom transports are treated like processes.
 */
export const mayBeReplacedAtOnce = ({ transport }: Session): boolean =>
  transport === "http" || transport === "sse" || transport === "websocket";

/**
 * Waits until a silent session receives a message (`"alive"`), has no open request (`"idle"`), or closes.
 * Rejects when the signal aborts.
 */
export async function waitForSign(
  session: Session,
  signal: AbortSignal,
): Promise<"alive" | "idle" | "closed"> {
  const before = session.received;
  let isClosed = false;
  void session.closed.then(() => {
    isClosed = true;
  });
  for (;;) {
    // Lets `closed` settle first: it resolves before the requests that it interrupts are counted.
    await undefined;
    if (isClosed) return "closed";
    if (session.received !== before) return "alive";
    if (session.inFlight === 0) return "idle";
    await pause(LOOK_EVERY_MS, signal);
  }
}

function noSignOfLife(server: string, limitMs: number, cause: ToolportError): ConnectionError {
  return new ConnectionError({
    code: "UNREACHABLE",
    server,
    what: `The server answered neither a request nor the ping that followed within ${limitMs / 1_000} s`,
    next: "Toolport opens a new connection; if this happens again, see the server's log",
    retryable: true,
    cause,
  });
}
