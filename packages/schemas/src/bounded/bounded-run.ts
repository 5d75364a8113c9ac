/** How a runtime limits the time of a validation. Both implementations of `#run-bounded` have this interface. */

/** The result of a run that was stopped. */
export const TIMED_OUT = Symbol("timed out");

/** Tests a text against one pattern in linear time. */
export type LinearTest = (text: string) => boolean;

/** Undefined if the engine does not support the pattern. */
export type LinearEngine = (pattern: string) => LinearTest | undefined;

export interface BoundedRun {
  /** Runs `task`, and stops it after `limitMs` where the runtime can. */
  run<T>(task: () => T, limitMs: number): T | typeof TIMED_OUT;
  /** For runtimes that cannot stop a run: an engine with linear time. */
  loadLinearEngine?: () => Promise<LinearEngine>;
}
