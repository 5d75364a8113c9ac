/** Creates a store on a backend: adds JSON, encryption, lease objects, watchers and `close()`. */
import { callSafely, StateError } from "@toolport/base";
import { keylessSealer, readRecordText, readSealedText, type Sealer, writeRecordText } from "./sealing.js";
import type { Lease, Store } from "./store.js";
import type { BackendRecord, StoreBackend } from "./store-backend.js";

/** A store that encrypts secrets. */
export interface SealingStore extends Store {
  /**
   * Encrypts every secret again that uses an older key, and returns their number. Afterwards the older
   * keys are no longer needed, once no process uses them for new values.
   */
  reseal(): Promise<number>;
}

/**
 * A store on any backend.
 *
 * @param sealer encrypts secret values; without one, writing secrets fails
 * @example
 * ```ts
 * const store = createStore(backend, { sealer: createSealer(() => createKeyRing(key)) });
 * ```
 */
export function createStore(
  backend: StoreBackend,
  { sealer = NO_KEY }: { sealer?: Sealer | undefined } = {},
): SealingStore {
  const watchers = createWatchers(backend);
  const underWay = new Set<Promise<unknown>>();
  let closing: Promise<void> | undefined;

  /** Rejects calls after `close()`, which waits for pending calls. */
  const run = async <T>(call: () => Promise<T>): Promise<T> => {
    if (closing !== undefined) throw closedError();
    const promise = call();
    underWay.add(promise);
    try {
      return await promise;
    } finally {
      underWay.delete(promise);
    }
  };

  const toLease = (name: string, fence: number, ttlMs: number): Lease => {
    let isReleased = false;
    return {
      name,
      fence,
      async renew() {
        return !isReleased && (await run(() => backend.renewLease(name, fence, ttlMs)));
      },
      async release() {
        if (isReleased) return;
        isReleased = true;
        // A lease that cannot be released expires.
        await run(() => backend.renewLease(name, fence, 0)).catch(() => {});
      },
    };
  };

  return {
    sealed: sealer.encrypts,
    durabilityRisk: () => run(async () => backend.durabilityRisk?.()),
    get: (key) =>
      run(async () => {
        const record = await backend.get(checkKey(key));
        if (record === undefined) return undefined;
        return { ...(await readRecordText(key, record.text, sealer)), version: record.version };
      }),
    put: (key, value, { ifVersion, ttlMs, secret = false, lease } = {}) =>
      run(async () => {
        const text = await writeRecordText({ key: checkKey(key), value, secret }, sealer);
        const version = await backend.put(key, text, {
          ifVersion,
          ttlMs: ttlMs === Number.POSITIVE_INFINITY ? undefined : ttlMs,
          durable: secret,
          lease,
        });
        if (version !== undefined) watchers.notify(key);
        return version;
      }),
    delete: (key, { ifVersion } = {}) =>
      run(async () => {
        const isDeleted = await backend.delete(checkKey(key), { ifVersion });
        if (isDeleted) watchers.notify(key);
        return isDeleted;
      }),
    list: (prefix) => run(() => backend.list(prefix === "" ? "" : checkKey(prefix))),
    lease: (name, { ttlMs }) =>
      run(async () => {
        const fence = await backend.acquireLease(checkKey(name), ttlMs);
        return fence === undefined ? undefined : toLease(name, fence, ttlMs);
      }),
    watch(prefix, listener) {
      if (closing !== undefined) throw closedError();
      return watchers.add(prefix, listener);
    },
    reseal: () => run(() => resealRecords(backend, sealer)),
    close() {
      closing ??= (async () => {
        watchers.close();
        await Promise.allSettled(underWay);
        await backend.close();
      })();
      return closing;
    },
  };
}

const NO_KEY = keylessSealer("Set the option `key` of the store, or TOOLPORT_STORE_KEY");

/** Databases cannot store lone surrogates, and some cannot store NUL: keys that differ only there would collide. */
function checkKey(key: string): string {
  if (key === "" || /[\0\p{Cs}]/u.test(key)) {
    throw new TypeError("A key of a store must be a non-empty, well-formed string without NUL");
  }
  return key;
}

const closedError = (): StateError =>
  new StateError({ code: "UNAVAILABLE", what: "The store is closed", next: "Open a new one" });

/** Returns the number of rewritten records. A record that changes meanwhile is read again, never overwritten. */
async function resealRecords(backend: StoreBackend, sealer: Sealer): Promise<number> {
  let count = 0;
  for (const key of await backend.list("")) {
    for (;;) {
      const record = await backend.get(key);
      if (record === undefined || !(await isOutdated(record, sealer))) break;
      const { value } = await readRecordText(key, record.text, sealer);
      const text = await writeRecordText({ key, value, secret: true }, sealer);
      const { version: ifVersion, ttlLeftMs: ttlMs } = record;
      if ((await backend.put(key, text, { ifVersion, ttlMs, durable: true })) === undefined) continue;
      count++;
      break;
    }
  }
  return count;
}

async function isOutdated({ text }: BackendRecord, sealer: Sealer): Promise<boolean> {
  const sealed = readSealedText(text);
  return sealed !== undefined && !(await sealer.isCurrent(sealed));
}

/** The watchers of one store. */
function createWatchers(backend: StoreBackend) {
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
    add(prefix: string, listener: (key: string) => void): () => void {
      const watcher = { prefix, listener };
      watchers.add(watcher);
      stopBackend ??= backend.watch(notify);
      return () => {
        watchers.delete(watcher);
        if (watchers.size === 0) stop();
      };
    },
    /** Reports a write of this store asynchronously, after the current step of the caller. */
    notify(key: string): void {
      if (watchers.size > 0) queueMicrotask(() => notify(key));
    },
    close(): void {
      watchers.clear();
      stop();
    },
  };
}
