/** Gives the options of a call a signal that is created only if it is needed. */
import { ABORT, type AttachedAbort } from "./attached-abort.js";
import type { LazyAbort } from "./lazy-abort.js";

/** Gives options a `signal` that is created when it is read first. Copies of the options have a real one. */
export function attachAbort<Options extends object>(
  options: Options,
  abort: LazyAbort,
): Options & { readonly signal: AbortSignal } {
  (options as { [ABORT]?: AttachedAbort })[ABORT] = { abort, options };
  return Object.defineProperty(options, "signal", SIGNAL) as Options & { readonly signal: AbortSignal };
}

/** One getter for all options: with one for each, every call would have a shape of its own, which no code is optimized for. */
const SIGNAL: PropertyDescriptor = {
  enumerable: true,
  configurable: true,
  get(this: { readonly [ABORT]: AttachedAbort }) {
    return this[ABORT].abort.signal;
  },
};
