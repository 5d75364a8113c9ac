/** Notices pins that another process changed, and compares the tools of the user with them again. */
import type { Catalog } from "../catalog/catalog.js";
import type { ServerConfig } from "../config/server-config.js";
import { toToolportError } from "../errors/to-toolport-error.js";
import { serverIdentity, userPrefix } from "../state/server-keys.js";
import type { SharedParts } from "./shared-parts.js";

/** The part of a port that this needs. */
interface PinnedPort {
  readonly principal: { readonly name: string } | undefined;
  readonly catalog: Catalog;
  configs(): readonly ServerConfig[];
}

const ALL_PINS = "pins/";

/** Watches the pins of all users with one watch. Returns a function that stops it. */
export function watchPins(
  { settings, warn }: SharedParts,
  portOf: (principal: string | undefined) => PinnedPort | undefined,
): () => void {
  const fail = (error: unknown) => {
    warn(undefined, `The pins in the store cannot be watched: ${toToolportError(error).message}`);
    return () => {};
  };
  try {
    const stop: unknown = settings.store.watch(ALL_PINS, (key) => changed(key, portOf));
    if (typeof stop === "function") return stop as () => void;
    // A custom store may return a promise.
    Promise.resolve(stop).catch(fail);
    return () => {};
  } catch (error) {
    return fail(error);
  }
}

function changed(key: string, portOf: (principal: string | undefined) => PinnedPort | undefined): void {
  const principal = principalOf(key);
  const port = portOf(principal === "" ? undefined : principal);
  if (port === undefined) return;
  const identity = key.slice(userPrefix("pins", port.principal?.name).length);
  // Version 0.1 stored pins under the name only.
  for (const config of port.configs())
    if (identity === serverIdentity(config) || identity === encodeURIComponent(config.name))
      void port.catalog.pinsChanged(config.name);
}

/** Keys are `pins/<user>/<server>`. */
function principalOf(key: string): string {
  const [, user = ""] = key.split("/", 2);
  try {
    return decodeURIComponent(user);
  } catch {
    return user;
  }
}
