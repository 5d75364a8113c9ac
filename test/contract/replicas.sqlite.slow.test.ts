/** Replicas share keys, notes and messages through a SQLite file. */
import { sqliteStore } from "toolport/sqlite";
import { describeReplicas } from "./replica-contract.js";
import { openOnDisk } from "./store-on-disk.js";

describeReplicas("sqlite", () => openOnDisk("sqlite", "state.db", sqliteStore));
