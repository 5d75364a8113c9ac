/** A real store on a slow network: every call and every notice takes its time, but calls do not wait for each other. */
import { setTimeout as delay } from "node:timers/promises";
import type { Store } from "toolport";

/** The delay is that of each direction, and may be changed at any time. */
export function slowStore(store: Store, ways: { readonly delayMs: number }): Store {
  const slow =
    <Args extends unknown[], Result>(call: (...args: Args) => Promise<Result>) =>
    async (...args: Args): Promise<Result> => {
      await delay(ways.delayMs);
      const result = await call(...args);
      await delay(ways.delayMs);
      return result;
    };
  return {
    get: slow(store.get),
    put: slow(store.put),
    delete: slow(store.delete),
    list: slow(store.list),
    lease: slow(store.lease),
    watch: (prefix, listener) =>
      store.watch(prefix, (key) => void delay(ways.delayMs).then(() => listener(key))),
    close: store.close,
  };
}
