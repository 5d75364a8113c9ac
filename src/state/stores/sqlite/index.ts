/** The entry point `toolport/sqlite`: state in a file, for one machine. */
export type { SealingStore } from "../../create-store.js";
export { createStoreKey, type StoreKey } from "../../key-ring.js";
export type { StoreKeys } from "../configured-keys.js";
export type { StoreWarning } from "../store-warning.js";
export { type SqliteStoreOptions, sqliteStore } from "./sqlite-store.js";
