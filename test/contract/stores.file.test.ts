/** The store in a JSON file, which the command line uses on a Node without SQLite, keeps the contract. */
import { fileStore } from "../../packages/stores/src/file/file-store.js";
import { describeStoreOnDisk } from "./store-on-disk.js";

describeStoreOnDisk("file", "state.json", fileStore);
