/** Finds the `LazyAbort` of the options of a call. Apart from its class, which only gateways load. */
import type { LazyAbort } from "./lazy-abort.js";

export const ABORT = Symbol("abort");

/** What `attachAbort` has added to exactly these options. */
export const attachedAbort = (options: object): LazyAbort | undefined =>
  Object.hasOwn(options, ABORT) ? (options as { [ABORT]?: LazyAbort })[ABORT] : undefined;
