/** Finds the `LazyAbort` of the options of a call. Apart from its class, which only gateways load. */
import type { LazyAbort } from "./lazy-abort.js";

export const ABORT = Symbol("abort");

export interface AttachedAbort {
  readonly abort: LazyAbort;
  /** A copy of the options has the same entry, but may have another signal. */
  readonly options: object;
}

/** What `attachAbort` has added to exactly these options. */
export function attachedAbort(options: object): LazyAbort | undefined {
  const attached = (options as { [ABORT]?: AttachedAbort })[ABORT];
  return attached?.options === options ? attached.abort : undefined;
}
