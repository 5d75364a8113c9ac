/** Replicas share keys, notes and messages through a store in memory. */
import { memoryStore } from "../../packages/stores/src/memory-store.js";
import { describeReplicas } from "./replica-contract.js";

describeReplicas("memory", async () => {
  const store = memoryStore();
  return { store, another: () => store, remove: () => store.close() };
});
