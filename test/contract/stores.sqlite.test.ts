/** The store in a SQLite file keeps the contract. */
import { sqliteStore } from "toolport/sqlite";
import { describeStoreOnDisk } from "./store-on-disk.js";

describeStoreOnDisk("sqlite", "state.db", sqliteStore);
