/** How a runtime limits the time of a validation. Both implementations of `#run-bounded` have this interface. */

/** What a run gives that was stopped. */
export const TIMED_OUT = Symbol("timed out");

/** Tests a text against one pattern, in time that grows with the text only. */
export type LinearTest = (text: string) => boolean;

/** Undefined when the engine cannot take the pattern. */
export type LinearEngine = (pattern: string) => LinearTest | undefined;

export interface BoundedRun {
  /** Runs `task`, and stops it after `limitMs` where the runtime can. */
  run<T>(task: () => T, limitMs: number): T | typeof TIMED_OUT;
  /** Where a run cannot be stopped: an engine that patterns cannot slow down. */
  loadLinearEngine?: () => Promise<LinearEngine>;
}
