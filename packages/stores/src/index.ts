/** What other packages use of `stores`. */
export type { SealingStore } from "./create-store.js";
export { checkStore, storeProblem, withStateErrors } from "./custom-store.js";
export {
  type DurableObjectSqlStorage,
  type DurableObjectStoreOptions,
  durableObjectStore,
} from "./durable-object/durable-object-store.js";
export { fileStore } from "./file/file-store.js";
export {
  HeldRecord,
  isAbandoned,
  type LeasedRecord,
  type RecordAccess,
  TokenRecords,
  type VersionedRecord,
  withLease,
} from "./held-record.js";
export { createKeyFile, readKeyLines } from "./local-files.js";
export { memoryStore } from "./memory-store.js";
export { loadSqliteDriver } from "./sqlite/open-database.js";
export {
  type DurabilityRisk,
  type Lease,
  type PutOptions,
  type Store,
  type StoredRecord,
  userPrefix,
} from "./store.js";
export { KEY_VARIABLE, type StoreKeys } from "./store-arguments.js";
