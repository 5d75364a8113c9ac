/** How long to wait before the next attempt: exponential, with jitter. */

export interface BackoffOptions {
  /** Wait before the second attempt. @default 1000 */
  baseMs?: number;
  /** Growth from one attempt to the next. @default 1.6 */
  factor?: number;
  /** Share of the wait that is random, both ways. @default 0.2 */
  jitter?: number;
  /** Longest wait. @default 60000 */
  maxMs?: number;
  random?: () => number;
}

/**
 * The wait before attempt `attempt` (1 is the first), for one client that a caller waits for: the first attempt is
 * immediate. The figures are those of gRPC's connection back-off with a shorter cap.
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
  /** Longest wait before the first attempt; doubled for each later one. @default 1000 */
  baseMs?: number;
  /** Longest wait of all. @default 60000 */
  maxMs?: number;
  random?: () => number;
}

/**
 * The wait before attempt `attempt` (1 is the first), for work in the background that many clients may start at the same
 * moment: anything between 0 and a limit that doubles with every attempt, so that a thousand clients of a server that
 * restarts do not come back in one burst.
 */
export function fullJitterMs(
  attempt: number,
  { baseMs = 1_000, maxMs = 60_000, random = Math.random }: FullJitterOptions = {},
): number {
  return Math.round(random() * Math.min(baseMs * 2 ** (Math.max(attempt, 1) - 1), maxMs));
}
