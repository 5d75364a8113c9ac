/** When to try again, and when to stop: pure decisions, so that the figures can be read and tested in one place. */
import type { ReconnectConfig } from "../config/server-config.js";
import { AuthError } from "../errors/auth-error.js";
import { ConnectionError } from "../errors/connection-error.js";
import type { ToolportError } from "../errors/toolport-error.js";
import { fullJitterMs } from "../util/backoff.js";

/** Starts of a process within the window before it counts as broken. */
export const MAX_STARTS = 5;
export const START_WINDOW_MS = 60_000;
/** A connection that held this long has earned a fresh count of attempts. */
const HEALTHY_AFTER_MS = 30_000;

/** Least time between two attempts that calls ask for: without it, every call to a dead server would dial it. */
const CALL_PAUSE_MS = 1_000;

/** When the next attempt is made. */
export interface ReconnectWaits {
  /** The wait while no call needs the connection. */
  readonly backgroundMs: number;
  /** A call may end that wait when this much time has passed since the attempt before. */
  readonly callPauseMs: number;
}

/**
 * The waits before attempt `attempt` (1 is the first after a loss). A reconnect that a call waits for is immediate. In the
 * background full jitter applies from the first attempt, because a server that restarts loses all its clients at once.
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
  return { backgroundMs: delayMs ?? fullJitterMs(attempt, { random }), callPauseMs: CALL_PAUSE_MS };
}

/** Failures in a row: their number and the last two. All of them would fill the memory with a server that comes and goes. */
export class Failures {
  #count = 0;
  #last: ToolportError | undefined;
  #before: ToolportError | undefined;

  get count(): number {
    return this.#count;
  }

  get last(): ToolportError | undefined {
    return this.#last;
  }

  /** The one before the last. */
  get before(): ToolportError | undefined {
    return this.#before;
  }

  add(error: ToolportError): void {
    this.#count += 1;
    this.#before = this.#last;
    this.#last = error;
  }
}

/** What counts after a connection that was ready since then (`performance.now()`): if it held for long, nothing. */
export const failuresAfter = (readySince: number, failures: Failures): Failures =>
  performance.now() - readySince >= HEALTHY_AFTER_MS ? new Failures() : failures;

/** Why no further attempt is made after these failures; undefined: go on. */
export function reasonToStop(
  { count, last, before }: Failures,
  { maxAttempts }: ReconnectConfig,
): string | undefined {
  if (last !== undefined && isRestartLimit(last)) return "it was started too often";
  if (last instanceof AuthError && before instanceof AuthError && last.code === before.code) {
    return "authorization was refused twice in the same way";
  }
  if (maxAttempts !== undefined && count >= maxAttempts) return `${maxAttempts} attempts failed`;
  return undefined;
}

/** Counts the starts of a process and says when they are too many. */
export class StartBudget {
  #starts: number[] = [];
  readonly #now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** True if one more start is allowed; it is then counted. */
  spend(): boolean {
    const now = this.#now();
    this.#starts = this.#starts.filter((at) => now - at < START_WINDOW_MS);
    if (this.#starts.length >= MAX_STARTS) return false;
    this.#starts.push(now);
    return true;
  }

  reset(): void {
    this.#starts = [];
  }
}

export const isRestartLimit = (error: ToolportError): boolean =>
  error instanceof ConnectionError && error.code === "RESTART_LIMIT";

/** The error of a process that keeps ending. */
export function restartLimitError(server: string, last: ToolportError | undefined): ConnectionError {
  const details = last instanceof ConnectionError ? last : undefined;
  return new ConnectionError({
    code: "RESTART_LIMIT",
    server,
    what: `The server was started ${MAX_STARTS} times within ${START_WINDOW_MS / 1_000} s and ended every time${
      last === undefined ? "" : `; last: ${last.what}`
    }`,
    next: "Mend what makes it end, then connect again",
    outcome: "unsent",
    exitCode: details?.exitCode,
    signal: details?.signal,
    stderrTail: details?.stderrTail,
    cause: last,
  });
}
