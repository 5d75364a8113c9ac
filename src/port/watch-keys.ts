/** Watches the records of one kind in the store. */
import { toToolportError } from "../errors/to-toolport-error.js";
import type { SharedParts } from "./shared-parts.js";

/** Warns if the store cannot be watched. Returns a function that stops it. */
export function watchKeys(
  { settings, warn }: Pick<SharedParts, "settings" | "warn">,
  prefix: string,
  listener: (key: string) => void,
): () => void {
  const fail = (error: unknown) => {
    warn(undefined, `The store cannot be watched: ${toToolportError(error).message}`);
    return () => {};
  };
  try {
    const stop: unknown = settings.store.watch(prefix, listener);
    if (typeof stop === "function") return stop as () => void;
    // A custom store may return a promise.
    Promise.resolve(stop).catch(fail);
    return () => {};
  } catch (error) {
    return fail(error);
  }
}

/** The user of a key `<kind>/<user>/…`; undefined for the plain port. */
export function userOf(kind: string, key: string): string | undefined {
  const [user = ""] = key.slice(kind.length + 1).split("/", 1);
  try {
    return decodeURIComponent(user) || undefined;
  } catch {
    return user;
  }
}
