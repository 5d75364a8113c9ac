/** Callers that wait for the next of several events, such as space or the end of a request. */
import { onSharedAbort } from "@toolport/base";

export class Waiters {
  readonly #waiting = new Set<() => void>();

  /** Lets all callers go on. Those that still find no place wait again. */
  wake(): void {
    for (const wake of [...this.#waiting]) wake();
  }

  /** Resolves with the next `wake()`; rejects on abort. */
  wait(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      const wake = () => {
        this.#waiting.delete(wake);
        stopListening?.();
        resolve();
      };
      const stopListening =
        signal &&
        onSharedAbort(signal, () => {
          this.#waiting.delete(wake);
          reject(signal.reason);
        });
      this.#waiting.add(wake);
    });
  }
}
