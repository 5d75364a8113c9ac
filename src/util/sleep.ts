/** Waits that an abort ends at once: one that somebody waits for, and one in the background. */
import { onSharedAbort } from "./shared-abort.js";
import { timerMs } from "./timers.js";

type Timer = ReturnType<typeof setTimeout>;

/**
 * Resolves after `ms`, rejects with the signal's reason when aborted. A caller sits at the other end of it, so it keeps
 * the process alive: a host with nothing else to do must not end in the middle of a call.
 */
export const sleep = (ms: number, signal?: AbortSignal): Promise<void> => wait(ms, signal, () => {});

/** The same for work in the background: it never keeps the process alive. */
export const pause = (ms: number, signal?: AbortSignal): Promise<void> =>
  wait(ms, signal, (timer) => {
    // Timers are objects with unref() on Node, plain numbers on Workers and in browsers.
    if (typeof timer === "object") timer.unref?.();
  });

function wait(ms: number, signal: AbortSignal | undefined, onTimer: (timer: Timer) => void): Promise<void> {
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
