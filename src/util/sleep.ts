/** Abortable delays for foreground and background work. */
import { type AbortSource, onSharedAbort } from "./shared-abort.js";
import { timerMs, unrefTimer } from "./timers.js";

type Timer = ReturnType<typeof setTimeout>;

/**
 * Resolves after `ms`; rejects with the signal's reason on abort. Keeps the process alive, so that it does not exit in the middle
 * of a call.
 */
export const sleep = (ms: number, signal?: AbortSignal): Promise<void> => wait(ms, signal, () => {});

/** Like {@link sleep} for background work: does not keep the process alive. */
export const pause = (ms: number, signal?: AbortSource): Promise<void> => wait(ms, signal, unrefTimer);

function wait(ms: number, signal: AbortSource | undefined, onTimer: (timer: Timer) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const onAbort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      stopListening?.();
      resolve();
    }, timerMs(ms));
    onTimer(timer);
    const stopListening = signal && onSharedAbort(signal, onAbort);
  });
}
