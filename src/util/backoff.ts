/** Delays between attempts: exponential backoff with jitter. */

export interface BackoffOptions {
  /** Delay before the second attempt. @default 1000 */
  baseMs?: number;
  /** Growth factor per attempt. @default 1.6 */
  factor?: number;
  /** Random share of the delay, in both directions. @default 0.2 */
  jitter?: number;
  /** Longest delay. @default 60000 */
  maxMs?: number;
  random?: () => number;
}

/**
 * The delay before attempt `attempt` (1 is the first) for work that a caller waits for: the first attempt is immediate. The
 * defaults are those of gRPC's connection backoff with a shorter maximum.
 */
export function backoffMs(
  attempt: number,
  { baseMs = 1_000, factor = 1.6, jitter = 0.2, maxMs = 60_000, random = Math.random }: BackoffOptions = {},
): number {
  if (attempt <= 1) return 0;
  const wait = Math.min(baseMs * factor ** (attempt - 2), maxMs);
  return Math.round(wait * (1 + jitter * (2 * random() - 1)));
}

export interface FullJitterOptions {
  /** Longest delay before the first attempt; doubles with every attempt. @default 1000 */
  baseMs?: number;
  /** Longest delay. @default 60000 */
  maxMs?: number;
  random?: () => number;
}

/**
 * The delay before attempt `attempt` (1 is the first) for background work: random between 0 and a limit that doubles with every
 * attempt, so that many clients of a restarting server do not reconnect in one burst.
 */
export function fullJitterMs(
  attempt: number,
  { baseMs = 1_000, maxMs = 60_000, random = Math.random }: FullJitterOptions = {},
): number {
  return Math.round(random() * Math.min(baseMs * 2 ** (Math.max(attempt, 1) - 1), maxMs));
}
