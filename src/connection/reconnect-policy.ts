/** Decides when to reconnect and when to stop. Pure functions, so that the figures can be tested. */
import type { ReconnectConfig, ServerConfig } from "../config/server-config.js";
import { AuthError } from "../errors/auth-error.js";
import { ConnectionError } from "../errors/connection-error.js";
import type { ToolportError } from "../errors/toolport-error.js";
import { fullJitterMs } from "../util/backoff.js";

/** Starts of a process within the window before Toolport gives up. */
export const MAX_STARTS = 5;
export const START_WINDOW_MS = 60_000;
/** A connection that lasts this long resets the count of attempts. */
const HEALTHY_AFTER_MS = 30_000;

/** Minimum time between two attempts that calls cause: otherwise every call to a dead server would start one. */
const CALL_PAUSE_MS = 1_000;

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
  return { backgroundMs: delayMs ?? fullJitterMs(attempt, { random }), callPauseMs: CALL_PAUSE_MS };
}

/** Failures in a row: their number and the last two. Keeping all of them would leak memory with an unstable server. */
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

  /** The failure before the last. */
  get before(): ToolportError | undefined {
    return this.#before;
  }

  add(error: ToolportError): void {
    this.#count += 1;
    this.#before = this.#last;
    this.#last = error;
  }
}

/** The failures that still count after a connection that was ready since `since` (`performance.now()`): none if it lasted long. */
export const failuresAfter = (readySince: number, failures: Failures): Failures =>
  performance.now() - readySince >= HEALTHY_AFTER_MS ? new Failures() : failures;

/** Why there is no further attempt after these failures; undefined if there is one. */
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

/** Limits how often a process is started. */
/** Only processes are limited: connections over the network cost the host nothing. */
export const isProcess = ({ kind }: Pick<ServerConfig, "kind">): boolean =>
  kind === "stdio" || kind === "docker";

export class StartBudget {
  #starts: number[] = [];
  readonly #now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Counts one more start, if it is allowed. */
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

/** The error of a process that exits repeatedly. */
export function restartLimitError(server: string, last: ToolportError | undefined): ConnectionError {
  const details = last instanceof ConnectionError ? last : undefined;
  return new ConnectionError({
    code: "RESTART_LIMIT",
    server,
    what: `The server was started ${MAX_STARTS} times within ${START_WINDOW_MS / 1_000} s and ended every time${
      last === undefined ? "" : `; last: ${last.what}`
    }`,
    next: "Fix the cause of the exits, then connect again",
    outcome: "unsent",
    exitCode: details?.exitCode,
    signal: details?.signal,
    stderrTail: details?.stderrTail,
    cause: last,
  });
}
