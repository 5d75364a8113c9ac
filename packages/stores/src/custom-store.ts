/** Stores that a user passes as an option: their methods are checked, and their errors become `StateError`s. */

import { ConfigError, readField, redactText, StateError } from "@toolport/base";
import type { Lease, Store } from "./store.js";

const METHODS = ["get", "put", "delete", "list", "lease", "watch"] as const;

/** What is wrong with a value that should be a store; undefined if it has the methods of one. */
export function storeProblem(value: unknown): string | undefined {
  const missing = METHODS.filter((method) => typeof readField(value, method) !== "function");
  if (missing.length === 0) return undefined;
  const expected = "must be a store, such as `memoryStore()`";
  if (missing.length < METHODS.length) return `${expected}; it lacks ${missing.join(", ")}`;
  if (typeof value === "function") return `${expected}; call the function and pass its result`;
  return typeof value === "string"
    ? `${expected}, not a text: pass an address to the store's function`
    : expected;
}

/**
 * A store from an option, with {@link withStateErrors}.
 *
 * @throws ConfigError if it is none
 */
export function checkStore(value: unknown, path: string): Store {
  const message = storeProblem(value);
  if (message !== undefined) throw new ConfigError({ code: "INVALID_CONFIG", issues: [{ path, message }] });
  return withStateErrors(value as Store);
}

/** The store, except that everything it throws reaches the caller as a `StateError` with the store's own error as its cause. */
export function withStateErrors(store: Store): Store {
  const toLease = (lease: Lease): Lease => ({
    name: lease.name,
    fence: lease.fence,
    renew: () => run(() => lease.renew()),
    // A lease that cannot be released expires.
    release: () => run(() => lease.release()).catch(() => {}),
  });
  return {
    get sealed() {
      return store.sealed;
    },
    ...(store.durabilityRisk !== undefined && {
      durabilityRisk: () => run(async () => store.durabilityRisk?.()),
    }),
    get: (key) => run(() => store.get(key)),
    put: (key, value, options) => run(() => store.put(key, value, options)),
    delete: (key, options) => run(() => store.delete(key, options)),
    list: (prefix) => run(() => store.list(prefix)),
    async lease(name, options) {
      const lease = await run(() => store.lease(name, options));
      return lease && toLease(lease);
    },
    watch(prefix, listener) {
      try {
        return store.watch(prefix, listener);
      } catch (error) {
        throw toStateError(error);
      }
    },
    close: () => run(() => store.close()),
  };
}

/** Also for methods that throw before they return a promise. */
async function run<Result>(call: () => Promise<Result>): Promise<Result> {
  try {
    return await call();
  } catch (error) {
    throw toStateError(error);
  }
}

function toStateError(error: unknown): StateError {
  if (StateError.isInstance(error)) return error;
  const message = readField(error, "message");
  const text =
    typeof message === "string" && message !== "" ? `: ${redactText(message).replace(/[.\s]+$/, "")}` : "";
  return new StateError({
    code: "UNAVAILABLE",
    what: `The store failed${text}`,
    next: "See the `cause` of this error, which the store has thrown",
    cause: error,
  });
}
