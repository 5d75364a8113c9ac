/** Waits for a shared promise with a timeout and an abort signal. */

import { type AbortSource, onSharedAbort } from "./shared-abort.js";
import { holdHost, timerMs } from "./timers.js";

export interface DeadlineOptions {
  signal?: AbortSource | undefined;
  /** `Infinity` or undefined: no limit. */
  timeoutMs?: number | undefined;
  /** Creates the error for a timeout. */
  onTimeout: () => Error;
}

/**
 * Waits for `promise` until the timeout or the abort. The promise itself continues, because other callers share it; its creator
 * must handle its rejection. Keeps the process alive while a caller waits.
 */
export function withDeadline<T>(
  promise: Promise<T>,
  { signal, timeoutMs, onTimeout }: DeadlineOptions,
): Promise<T> {
  const limited = timeoutMs !== undefined && Number.isFinite(timeoutMs);
  if (signal === undefined && !limited) return promise.finally(holdHost());
  return new Promise<T>((resolve, reject) => {
    if (signal?.aborted) {
      promise.catch(() => {});
      return reject(signal.reason);
    }
    const settle = (finish: () => void) => {
      clearTimeout(timer);
      release?.();
      stopListening?.();
      finish();
    };
    const onAbort = () => settle(() => reject(signal?.reason));
    const timer = limited
      ? setTimeout(() => settle(() => reject(onTimeout())), timerMs(timeoutMs))
      : undefined;
    const release = limited ? undefined : holdHost();
    const stopListening = signal && onSharedAbort(signal, onAbort);
    promise.then(
      (value) => settle(() => resolve(value)),
      (error) => settle(() => reject(error)),
    );
  });
}
