/** Decides when to reconnect and when to stop. */

import {
  AuthError,
  ConnectionError,
  fullJitterMs,
  onSharedAbort,
  pause,
  type ToolportError,
} from "@toolport/base";
import type { ReconnectConfig, ServerConfig } from "../config/server-config.js";

/** Starts of a process within the window before Toolport gives up. */
export const MAX_STARTS = 5;
export const START_WINDOW_MS = 60_000;
/** Attempts count until the server has been ready for this long, the longest delay between two attempts. */
const STABLE_AFTER_MS = 60_000;

/** Minimum time between two attempts that calls cause: otherwise every call to a dead server would start one. Doubles. */
const CALL_PAUSE_MS = 1_000;
const MAX_CALL_PAUSE_MS = 4_000;

/** Delays before the next attempt. */
export interface ReconnectWaits {
  /** The delay while no call needs the connection. */
  readonly backgroundMs: number;
  /** A call may start the attempt this long after the previous one. */
  readonly callPauseMs: number;
}

/**
 * The delays before attempt `attempt` (1 is the first after a loss). If a call waits, Toolport reconnects at once. In the
 * background the delay is random (full jitter) from the first attempt on, because a restarting server loses all clients at once.
 */
export function reconnectWaits(
  attempt: number,
  { delayMs }: ReconnectConfig,
  random: () => number = Math.random,
): ReconnectWaits {
  if (attempt <= 1) {
    const jitterMs = fullJitterMs(attempt, { random });
    return { backgroundMs: delayMs === undefined ? jitterMs : Math.min(jitterMs, delayMs), callPauseMs: 0 };
  }
  return {
    backgroundMs: delayMs ?? fullJitterMs(attempt, { random }),
    callPauseMs: Math.min(CALL_PAUSE_MS * 2 ** (attempt - 2), MAX_CALL_PAUSE_MS),
  };
}

/** The delay before the next attempt, which the program or a waiting call may end. */
export class ReconnectWait {
  /** Ends the current delay and clears its timers. */
  #cut: AbortController | undefined;
  /** When the last delay ended and an attempt began (`performance.now()`). */
  #endedAt = Number.NEGATIVE_INFINITY;
  /** When a waiting call may end the delay (`performance.now()`). */
  #callAt = 0;

  /** Resolves when the next attempt is due; rejects with the reason of the signal. */
  async start({ backgroundMs, callPauseMs }: ReconnectWaits, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const cut = new AbortController();
    const stopListening = onSharedAbort(signal, () => cut.abort());
    this.#cut = cut;
    this.#callAt = this.#endedAt + callPauseMs;
    if (backgroundMs > 0) await pause(backgroundMs, cut.signal).catch(() => {});
    stopListening();
    cut.abort();
    if (this.#cut === cut) this.#cut = undefined;
    this.#endedAt = performance.now();
    signal.throwIfAborted();
  }

  /** The program asked for this server: the next attempt is due now. */
  end(): void {
    this.#cut?.abort();
  }

  /** A call waits for the server: the next attempt is due as soon as the policy allows. */
  needed(): void {
    const cut = this.#cut;
    if (cut === undefined) return;
    const leftMs = this.#callAt - performance.now();
    if (leftMs <= 0) return cut.abort();
    // One timer is enough for all waiting calls.
    if (leftMs === Number.POSITIVE_INFINITY) return;
    this.#callAt = Number.POSITIVE_INFINITY;
    pause(leftMs, cut.signal).then(
      () => cut.abort(),
      () => {},
    );
  }
}

/** Only processes are limited by time: connections over the network cost the host nothing. */
const isProcess = ({ kind }: Pick<ServerConfig, "kind">): boolean => kind === "stdio" || kind === "docker";

/**
 * The attempts of one connection after a loss or a failure, in the background and for calls alike. They count, whether they
 * succeed or not, until the server has been ready for `STABLE_AFTER_MS`, or until the program asks for the server by name.
 */
export class RestartBudget {
  readonly #config: Pick<ServerConfig, "name" | "kind" | "reconnect">;
  readonly #now: () => number;
  #count = 0;
  /** The last two failures in a row. */
  #last: ToolportError | undefined;
  #before: ToolportError | undefined;
  /** When processes were started, within the window. */
  #starts: number[] = [];
  /** How long the server has been ready since the last loss, without the connection that is open now. */
  #readyMs = 0;

  constructor(config: Pick<ServerConfig, "name" | "kind" | "reconnect">, now = () => performance.now()) {
    this.#config = config;
    this.#now = now;
  }

  /** Attempts that count. */
  get count(): number {
    return this.#count;
  }

  /** The last failure that counts. */
  get last(): ToolportError | undefined {
    return this.#last;
  }

  /** The server may be tried again as if it had never failed. */
  reset(): void {
    this.#starts = [];
    this.#refill();
  }

  #refill(): void {
    this.#count = 0;
    this.#last = undefined;
    this.#before = undefined;
    this.#readyMs = 0;
  }

  /** The next attempt follows no failure: it is always allowed and does not count. Returns its number. */
  begin(): number {
    this.#last = undefined;
    this.#before = undefined;
    this.#starts.push(this.#now());
    return 1;
  }

  /** Counts one more attempt. Returns its number. The caller has checked the {@link limit}. */
  take(): number {
    this.#starts.push(this.#now());
    this.#count += 1;
    return this.#count;
  }

  /** The last attempt was the second half of another one, and succeeded: it does not count. */
  giveBack(): void {
    this.#count = Math.max(0, this.#count - 1);
  }

  /** The error if no further attempt is allowed now. */
  limit(): ConnectionError | undefined {
    const { maxAttempts } = this.#config.reconnect;
    if (maxAttempts !== undefined && this.#count >= maxAttempts)
      return attemptsUsedUp(this.#config, maxAttempts, this.#last);
    if (!isProcess(this.#config)) return undefined;
    const now = this.#now();
    this.#starts = this.#starts.filter((at) => now - at < START_WINDOW_MS);
    return this.#starts.length < MAX_STARTS ? undefined : startedTooOften(this.#config.name, this.#last);
  }

  /** Why Toolport stops trying, and the error of the calls that follow; undefined if there is a further attempt. */
  stop(): { readonly reason: string; readonly error: ToolportError } | undefined {
    const [last, before] = [this.#last, this.#before];
    if (last instanceof AuthError && before instanceof AuthError && last.code === before.code)
      return { reason: "authorization was refused twice in the same way", error: last };
    const error = this.limit();
    return error && { reason: "it was tried too often", error };
  }

  failed(error: ToolportError): void {
    this.#before = this.#last;
    this.#last = error;
  }

  /** A connection is lost. */
  lost(readyMs: number, error: ToolportError): void {
    this.#wasReady(readyMs);
    this.#readyMs = 0;
    this.failed(error);
  }

  /** Toolport closed a connection, or gave up an attempt: the process did not end by itself. */
  closed(readyMs: number): void {
    this.#starts.pop();
    this.#wasReady(readyMs);
  }

  #wasReady(ms: number): void {
    this.#readyMs += ms;
    if (this.#readyMs >= STABLE_AFTER_MS) this.#refill();
  }
}

/** Keeps what the last failure of the process says. */
function restartLimit(server: string, what: string, next: string, last?: ToolportError): ConnectionError {
  const details = last instanceof ConnectionError ? last : undefined;
  return new ConnectionError({
    code: "RESTART_LIMIT",
    server,
    what: last === undefined ? what : `${what}; last: ${last.what}`,
    next,
    outcome: "unsent",
    exitCode: details?.exitCode,
    signal: details?.signal,
    stderrTail: details?.stderrTail,
    cause: last,
  });
}

const connectYourself = (server: string): string =>
  `Fix the cause, then call connectServer(${JSON.stringify(server)})`;

function startedTooOften(server: string, last: ToolportError | undefined): ConnectionError {
  const seconds = START_WINDOW_MS / 1_000;
  const what = `The server was started ${MAX_STARTS} times within ${seconds} s and ended every time`;
  return restartLimit(server, what, `${connectYourself(server)}, or call again after ${seconds} s`, last);
}

function attemptsUsedUp(
  config: Pick<ServerConfig, "name" | "kind">,
  maxAttempts: number,
  last: ToolportError | undefined,
): ConnectionError {
  const [option, done] = isProcess(config) ? ["restart", "started again"] : ["reconnect", "connected again"];
  const times = maxAttempts === 1 ? "once" : `${maxAttempts} times`;
  const what = `The server may be ${done} ${times} (${option}.maxAttempts) until it stays ready for ${STABLE_AFTER_MS / 1_000} s, and that is used up`;
  return restartLimit(config.name, what, connectYourself(config.name), last);
}
