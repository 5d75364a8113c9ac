/** Waiting for something shared, without being bound to it for ever. */

import { onSharedAbort } from "./shared-abort.js";
import { holdHost, timerMs } from "./timers.js";

export interface DeadlineOptions {
  signal?: AbortSignal | undefined;
  /** Milliseconds to wait; `Infinity` or undefined: no limit. */
  timeoutMs?: number | undefined;
  /** Makes the error for a wait that took too long. */
  onTimeout: () => Error;
}

/**
 * Waits for `promise`, but no longer than the caller wants. The promise itself goes on: it is shared with others, so
 * whoever started it must handle its rejection. The host does not end as long as somebody waits.
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
      letHostEnd?.();
      stopListening?.();
      finish();
    };
    const onAbort = () => settle(() => reject(signal?.reason));
    const timer = limited
      ? setTimeout(() => settle(() => reject(onTimeout())), timerMs(timeoutMs))
      : undefined;
    const letHostEnd = limited ? undefined : holdHost();
    const stopListening = signal && onSharedAbort(signal, onAbort);
    promise.then(
      (value) => settle(() => resolve(value)),
      (error) => settle(() => reject(error)),
    );
  });
}
