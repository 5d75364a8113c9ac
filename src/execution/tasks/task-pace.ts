/** How long to wait before a task is asked about again: as its server wants it, within reason. */

export const MIN_PACE_MS = 100;
const MAX_PACE_MS = 60_000;
/** Where the server does not say: soon at first, then less and less often. */
const FIRST_PACE_MS = 250;
const LAST_PACE_MS = 5_000;
const GROWTH = 1.5;
/** On top, so that many clients do not ask in step; never below what the server wants. */
const JITTER = 0.1;

/** @param polls how often it was asked about so far */
export function taskPaceMs(
  wishMs: number | undefined,
  polls: number,
  random: () => number = Math.random,
): number {
  const ownMs = Math.min(FIRST_PACE_MS * GROWTH ** polls, LAST_PACE_MS);
  const paceMs = Math.min(Math.max(wishMs ?? ownMs, MIN_PACE_MS), MAX_PACE_MS);
  return paceMs * (1 + random() * JITTER);
}
