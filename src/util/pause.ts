/** A wait that an abort ends at once. */
import { onSharedAbort } from "./shared-abort.js";
import { timerMs } from "./timer-ms.js";

/** Resolves after `ms`, rejects with the signal's reason when aborted. The timer never keeps the process alive. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
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
    // Timers are objects with unref() on Node, plain numbers on Workers and in browsers.
    if (typeof timer === "object") timer.unref?.();
    const stopListening = signal && onSharedAbort(signal, onAbort);
  });
}
