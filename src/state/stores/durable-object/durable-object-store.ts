/** A store in the SQL storage of a Durable Object. Nothing here needs Node. */
import { StateError } from "../../../errors/state-error.js";
import { processWide } from "../../../util/process-wide.js";
import { createStore, type SealingStore } from "../../create-store.js";
import { createKeyRing, type StoreKey } from "../../key-ring.js";
import { createSealer, unkeyedSealer, withUnkeyed } from "../../sealing.js";
import { migrate } from "../../sql-migrations.js";
import * as records from "../../sql-records.js";
import type { SqlRunner } from "../../sql-runner.js";
import type { StoreBackend } from "../../store-backend.js";

/** The part of a Durable Object's `ctx.storage` that the store uses. */
export interface DurableObjectSqlStorage {
  sql: {
    exec(query: string, ...bindings: (string | number | null)[]): { toArray(): Record<string, unknown>[] };
  };
  transactionSync<T>(closure: () => T): T;
}

/** Options of {@link durableObjectStore}. */
export interface DurableObjectStoreOptions {
  /**
   * What secret values are encrypted with besides what the platform does: 32 bytes, as they are or as base64 or
   * hexadecimal text, for instance from a Worker's secret. In a list the first encrypts and the others still decrypt.
   * @default none: nobody but the object itself can reach its storage
   */
  key?: StoreKey | readonly StoreKey[] | undefined;
}

/** All handles of one object's storage, so that each reports its writes to the others: no other process ever writes there. */
const listeners = processWide(
  "durable-object-watchers",
  () => new WeakMap<object, Set<(key: string) => void>>(),
);

/**
 * A store in a Durable Object's own database, in tables whose names begin with `toolport_`.
 *
 * @example
 * ```ts
 * const store = durableObjectStore(this.ctx.storage, { key: this.env.STORE_KEY });
 * ```
 */
export function durableObjectStore(
  storage: DurableObjectSqlStorage,
  { key }: DurableObjectStoreOptions = {},
): SealingStore {
  const sealer = key === undefined ? unkeyedSealer : withUnkeyed(createSealer(() => createKeyRing(key)));
  return createStore(createDurableObjectBackend(storage), { sealer });
}

function createDurableObjectBackend(storage: DurableObjectSqlStorage): StoreBackend {
  const runner: SqlRunner = {
    all: (sql, ...bindings) => storage.sql.exec(sql, ...bindings).toArray(),
    transaction: (steps) => storage.transactionSync(steps),
  };
  let isMigrated = false;
  const run = async <T>(step: (sql: SqlRunner) => T): Promise<T> => {
    try {
      if (!isMigrated) migrate(runner);
      isMigrated = true;
      return step(runner);
    } catch (error) {
      throw toStateError(error);
    }
  };
  const others = listeners.get(storage) ?? new Set();
  listeners.set(storage, others);
  let own: ((key: string) => void) | undefined;
  const tell = (key: string): void => {
    queueMicrotask(() => {
      for (const listener of others) if (listener !== own) listener(key);
    });
  };

  return {
    get: (key) => run((sql) => records.getRecord(sql, key)),
    async put(key, text, { ifVersion, ttlMs, lease }) {
      const version = await run((sql) => records.putRecord(sql, { key, text, ifVersion, ttlMs, lease }));
      if (version !== undefined) tell(key);
      return version;
    },
    async delete(key, { ifVersion }) {
      const isDeleted = await run((sql) => records.deleteRecord(sql, key, ifVersion));
      if (isDeleted) tell(key);
      return isDeleted;
    },
    list: (prefix) => run((sql) => records.listKeys(sql, prefix)),
    acquireLease: (name, ttlMs) => run((sql) => records.acquireLease(sql, { name, ttlMs })),
    renewLease: (name, fence, ttlMs) =>
      run((sql) => records.setLeaseEnd(sql, { name, fence, expiresAt: Date.now() + ttlMs })),
    async releaseLease(name, fence) {
      await run((sql) => records.setLeaseEnd(sql, { name, fence, expiresAt: Date.now() }));
    },
    watch(onChange) {
      own = (key) => onChange(key);
      const listener = own;
      others.add(listener);
      return () => others.delete(listener);
    },
    // The storage is the object's, which goes on.
    async close() {},
  };
}

const toStateError = (error: unknown): StateError =>
  error instanceof StateError
    ? error
    : new StateError({
        code: "UNAVAILABLE",
        what: "The storage of the Durable Object cannot be used",
        next: "Check that its class is listed under `new_sqlite_classes`, and its limits",
        cause: error,
      });
