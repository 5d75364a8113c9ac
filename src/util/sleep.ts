/** A wait that somebody waits for: unlike `pause`, it keeps the process alive. */
import { onSharedAbort } from "./shared-abort.js";
import { timerMs } from "./timer-ms.js";

/**
 * Resolves after `ms`, rejects with the signal's reason when aborted. A caller sits at the other end of it: a host with
 * nothing else to do must not end in the middle of the call.
 */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
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
    const stopListening = signal && onSharedAbort(signal, onAbort);
  });
}
