/** The store in memory keeps the contract. */
import { memoryStore } from "../../packages/stores/src/memory-store.js";
import { describeStore } from "./store-contract.js";

describeStore("memory", async () => {
  const store = memoryStore();
  return { store, another: () => store, remove: () => store.close() };
});
