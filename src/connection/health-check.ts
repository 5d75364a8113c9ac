/** Finds out whether the server behind a silent session is still alive. */
import { ConnectionError } from "../errors/connection-error.js";
import { toToolportError } from "../errors/to-toolport-error.js";
import type { ToolportError } from "../errors/toolport-error.js";
import type { Session } from "../protocol/session.js";
import { pause } from "../util/sleep.js";
import { isLost } from "./run-on-session.js";

/** How long a server may take to answer a ping. */
export const PING_LIMIT_MS = 10_000;

/** How often a session is looked at that waits for a sign of life. */
const LOOK_EVERY_MS = 50;

/**
 * Pings the server. Resolves with the reason if the session is of no more use, and with undefined if the server shows any
 * sign of life: an answer, an error as well, or any other message.
 */
export async function findLoss(session: Session, limitMs: number): Promise<ToolportError | undefined> {
  const before = session.received;
  try {
    await session.ping({ timeoutMs: limitMs, maxTimeoutMs: limitMs, quiet: true, background: true });
    return undefined;
  } catch (cause) {
    const error = toToolportError(cause, { server: session.server });
    // A connection that is being closed says why by itself.
    if (session.received !== before || error.code === "CLOSED") return undefined;
    if (error.code === "TIMEOUT") return noSignOfLife(session.server, limitMs, error);
    return isLost(error, session) ? error : undefined;
  }
}

/**
 * A process is ended only when no call on it can be answered any more: it may have one thread, and be busy. Over a network
 * a new connection costs the calls on the old one nothing. What a user's own transport stands for is unknown.
 */
export const mayBeReplacedAtOnce = ({ transport }: Session): boolean =>
  transport === "http" || transport === "sse" || transport === "websocket";

/**
 * Waits until a silent session shows life (`"alive"`), until no request on it is open (`"idle"`), or until it is closed.
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
    // Settled in this turn: `closed` is known before the requests it took along are counted.
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
