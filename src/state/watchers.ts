/** The watchers of a store. The backend's watch runs as long as there are any. */
import { callSafely } from "../util/call-safely.js";
import type { StoreBackend } from "./store-backend.js";

/** The watchers of one store. */
export interface Watchers {
  add(prefix: string, listener: (key: string) => void): () => void;
  /** Reports a write of this store asynchronously, after the current step of the caller. */
  notify(key: string): void;
  close(): void;
}

export function createWatchers(backend: Pick<StoreBackend, "watch">): Watchers {
  const watchers = new Set<{ prefix: string; listener: (key: string) => void }>();
  let stopBackend: (() => void) | undefined;

  const notify = (key: string): void => {
    for (const { prefix, listener } of [...watchers]) {
      // An error of a listener has no effect on the store.
      if (key.startsWith(prefix))
        callSafely(
          () => listener(key),
          () => {},
        );
    }
  };
  const stop = (): void => {
    stopBackend?.();
    stopBackend = undefined;
  };

  return {
    add(prefix, listener) {
      const watcher = { prefix, listener };
      watchers.add(watcher);
      stopBackend ??= backend.watch(notify);
      return () => {
        watchers.delete(watcher);
        if (watchers.size === 0) stop();
      };
    },
    notify(key) {
      if (watchers.size > 0) queueMicrotask(() => notify(key));
    },
    close() {
      watchers.clear();
      stop();
    },
  };
}
