/** Those who want to know what changes in a store, and the backend's watch that lasts as long as there are some. */
import { callSafely } from "../util/call-safely.js";
import type { StoreBackend } from "./store-backend.js";

/** The watchers of one store. */
export interface Watchers {
  add(prefix: string, listener: (key: string) => void): () => void;
  /** Tells of a write of this store's own, soon but not in the middle of the caller's step. */
  tell(key: string): void;
  close(): void;
}

export function createWatchers(backend: Pick<StoreBackend, "watch">): Watchers {
  const watchers = new Set<{ prefix: string; listener: (key: string) => void }>();
  let stopBackend: (() => void) | undefined;

  const notify = (key: string): void => {
    for (const { prefix, listener } of [...watchers]) {
      // A listener that fails has nobody to tell: the store works on.
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
    tell(key) {
      if (watchers.size > 0) queueMicrotask(() => notify(key));
    },
    close() {
      watchers.clear();
      stop();
    },
  };
}
