/** Watches records in the store that other processes change. */
import { toToolportError } from "../errors/to-toolport-error.js";
import { serverIdentity, userPrefix } from "../state/server-keys.js";
import type { PortCore } from "./port-core.js";
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

/** Watches the pins of all users with one watch. Returns a function that stops it. */
export const watchPins = (
  parts: SharedParts,
  portOf: (principal: string | undefined) => PortCore | undefined,
): (() => void) => watchKeys(parts, "pins/", (key) => pinChanged(key, portOf));

/** Another process changed a pin: compares the tools of the user with their pins again. */
function pinChanged(key: string, portOf: (principal: string | undefined) => PortCore | undefined): void {
  const port = portOf(userOf("pins", key));
  if (port === undefined) return;
  const identity = key.slice(userPrefix("pins", port.principal?.name).length);
  for (const config of port.configs())
    if (identity === serverIdentity(config)) void port.catalog.pinsChanged(config.name);
}
