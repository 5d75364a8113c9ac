/** Checks whether the server of a silent session is still alive. */

import { toToolportError } from "../errors/to-toolport-error.js";
import type { ToolportError } from "../errors/toolport-error.js";
import { ConnectionError } from "../errors/toolport-error.js";
import type { Session } from "../protocol/session.js";
import { pause } from "../util/timers.js";
import { isLost } from "./run-on-session.js";

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
