/** A store in the SQL storage of a Durable Object. Nothing here needs Node. */
import { getOrMake, type Logger, processWide, readUnchecked, StateError } from "@toolport/base";
import { createStore, type SealingStore } from "../create-store.js";
import { createKeyRing, createSealer, lostKey, type Sealer, unkeyedSealer, withUnkeyed } from "../sealing.js";
import { hasSealedRecord, migrate, recordMethods, type SqlRunner } from "../sql-records.js";
import { checkStoreArguments, hasMethods, KEY_VARIABLE, needs, type StoreKeys } from "../store-arguments.js";
import type { StoreBackend } from "../store-backend.js";

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
   * Encrypts secret values: 32 bytes, or the same as base64 or hexadecimal text, for instance a secret of the
   * Worker. In a list, or in a text with commas, the first key encrypts and the others still decrypt. A function is called when a
   * key is first needed. No key is ever written to the storage.
   * @default none: secret values are stored unencrypted, with one warning
   */
  key?: StoreKeys | (() => Promise<StoreKeys>) | undefined;
  /** Receives the warning that secret values are stored unencrypted. @default console */
  logger?: Pick<Logger, "warn"> | undefined;
}

/** All handles of the storage of one object, so that each reports its writes to the others. No other process writes there. */
const listeners = processWide(
  "durable-object-watchers",
  () => new WeakMap<object, Set<(key: string) => void>>(),
);

/**
 * A store in the database of a Durable Object, in tables whose names begin with `toolport_`.
 *
 * @example
 * ```ts
 * const store = durableObjectStore(this.ctx.storage, { key: this.env.TOOLPORT_STORE_KEY });
 * ```
 */
export function durableObjectStore(
  storage: DurableObjectSqlStorage,
  options: DurableObjectStoreOptions = {},
): SealingStore {
  checkStoreArguments({
    of: "durableObjectStore()",
    problem: storageProblem(storage),
    options,
    table: { key: readUnchecked, logger: readUnchecked },
  });
  const { key, logger = console } = options;
  const run = createRunner(storage);
  const backend = createDurableObjectBackend(storage, run);
  if (key === undefined) return createStore(backend, { sealer: createClearSealer(run, logger) });
  const loadKeys = async () => createKeyRing(typeof key === "function" ? await key() : key);
  const store = createStore(backend, { sealer: withUnkeyed(createSealer(loadKeys)) });
  let resealing: Promise<unknown> | undefined;
  return {
    ...store,
    async put(recordKey, value, options) {
      const version = await store.put(recordKey, value, options);
      // The first write of a secret also seals records that are unencrypted or use an older key. A record under a missing key
      // stays unchanged: reading it throws an error.
      if (options?.secret) resealing ??= store.reseal().catch(() => {});
      await resealing;
      return version;
    },
  };
}

function storageProblem(storage: unknown): string | undefined {
  const isStorage = hasMethods(storage, ["transactionSync"]) && hasMethods(storage["sql"], ["exec"]);
  return isStorage ? undefined : needs("`ctx.storage` of a Durable Object with SQLite", storage);
}

/** Without a key, secrets are stored unencrypted, unless others are already sealed: then the key is missing by mistake. */
function createClearSealer(run: Run, logger: Pick<Logger, "warn">): Sealer {
  return {
    ...unkeyedSealer,
    async seal(recordKey, text) {
      if (await run(hasSealedRecord)) throw lostKey();
      if (!warned.isGiven) logger.warn(CLEAR_WARNING);
      warned.isGiven = true;
      return unkeyedSealer.seal(recordKey, text);
    },
  };
}

/** One warning for all objects of a Worker that run in one isolate. */
const warned = processWide("durable-object-clear-warning", () => ({ isGiven: false }));

const CLEAR_WARNING = `Toolport: logins and servers of a Durable Object are stored unencrypted, because ${KEY_VARIABLE} is not set. Set it to 32 random bytes: openssl rand -base64 32 | npx wrangler secret put ${KEY_VARIABLE}`;

type Run = <T>(step: (sql: SqlRunner) => T) => Promise<T>;

/** Runs a step on tables that are up to date. */
function createRunner(storage: DurableObjectSqlStorage): Run {
  const runner: SqlRunner = {
    all: (sql, ...bindings) => storage.sql.exec(sql, ...bindings).toArray(),
    transaction: (steps) => storage.transactionSync(steps),
  };
  let isMigrated = false;
  return async (step) => {
    try {
      if (!isMigrated) migrate(runner);
      isMigrated = true;
      return step(runner);
    } catch (error) {
      if (error instanceof StateError) throw error;
      throw new StateError({
        code: "UNAVAILABLE",
        what: "The storage of the Durable Object cannot be used",
        next: "Check that its class is listed under `new_sqlite_classes`, and its limits",
        cause: error,
      });
    }
  };
}

function createDurableObjectBackend(storage: DurableObjectSqlStorage, run: Run): StoreBackend {
  const others = getOrMake(listeners, storage, () => new Set());
  let own: ((key: string) => void) | undefined;
  const notify = (key: string): void => {
    queueMicrotask(() => {
      for (const listener of others) if (listener !== own) listener(key);
    });
  };

  const methods = recordMethods(run, (step) => run((sql) => sql.transaction(() => step(sql))));
  return {
    ...methods,
    async put(key, ...rest) {
      const version = await methods.put(key, ...rest);
      if (version !== undefined) notify(key);
      return version;
    },
    async delete(key, ...rest) {
      const isDeleted = await methods.delete(key, ...rest);
      if (isDeleted) notify(key);
      return isDeleted;
    },
    watch(onChange) {
      own = (key) => onChange(key);
      const listener = own;
      others.add(listener);
      return () => others.delete(listener);
    },
    // The storage belongs to the object, which stays alive.
    async close() {},
  };
}
