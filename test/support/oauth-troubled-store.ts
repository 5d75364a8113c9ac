/** A real store that a test can make fail, like a full or read-only disk. */
import { StateError, type Store } from "toolport";

export interface TroubledStore extends Store {
  /** Operations that fail from now on, and their error; undefined: none. */
  trouble: { readonly code: StateError["code"]; readonly what: "writes" | "everything" } | undefined;
}

export function createTroubledStore(store: Store): TroubledStore {
  const check = (kind: "read" | "write") => {
    const { trouble } = troubled;
    if (trouble !== undefined && (kind === "write" || trouble.what === "everything"))
      throw new StateError({ code: trouble.code, what: "The disk failed", next: "Check the disk" });
  };
  const troubled: TroubledStore = {
    trouble: undefined,
    async get(key) {
      check("read");
      return store.get(key);
    },
    async put(key, value, options) {
      check("write");
      return store.put(key, value, options);
    },
    async delete(key, options) {
      check("write");
      return store.delete(key, options);
    },
    async list(prefix) {
      check("read");
      return store.list(prefix);
    },
    async lease(name, options) {
      check("write");
      return store.lease(name, options);
    },
    watch: (prefix, listener) => store.watch(prefix, listener),
    close: () => store.close(),
  };
  return troubled;
}
