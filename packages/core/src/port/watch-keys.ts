/** Watches records in the store that other processes change. */

import { toToolportError } from "@toolport/base";
import { userPrefix } from "@toolport/stores";
import { tokensPrefix } from "../auth/credential-records.js";
import { serverIdentity } from "../config/server-keys.js";
import type { PortCore } from "./port-core.js";
import type { SharedParts } from "./shared-parts.js";

/** Warns if the store cannot be watched. Returns a function that stops it. */
function watchKeys(
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
function userOf(kind: string, key: string): string | undefined {
  const [user = ""] = key.slice(kind.length + 1).split("/", 1);
  try {
    return decodeURIComponent(user) || undefined;
  } catch {
    return user;
  }
}

const kindOf = (prefix: string): string => prefix.slice(0, -"/x/".length);
const TOKENS = kindOf(tokensPrefix("x"));
const SERVERS = kindOf(userPrefix("servers", "x"));

/**
 * Notices logins, servers and pins that other processes stored, with one watch of each kind for all users. Returns a function that
 * stops it.
 */
export function watchRecords(
  parts: SharedParts,
  portOf: (principal: string | undefined) => PortCore | undefined,
): () => void {
  const { pins, restore } = parts.settings;
  const watch = (kind: string, changed: (port: PortCore, key: string) => void) =>
    watchKeys(parts, `${kind}/`, (key) => {
      const port = portOf(userOf(kind, key));
      if (port !== undefined) changed(port, key);
    });
  const stops = [
    watch(TOKENS, ({ saved }) => void saved?.state.then((state) => state?.tokensChanged())),
    ...(restore === false
      ? []
      : [watch(SERVERS, ({ saved }, key) => void saved?.state.then((state) => state?.serverChanged(key)))]),
    ...(pins === "off" ? [] : [watch("pins", pinChanged)]),
  ];
  return () => {
    for (const stop of stops) stop();
  };
}

/** Another process changed a pin: compares the tools of the user with their pins again. */
function pinChanged(port: PortCore, key: string): void {
  const identity = key.slice(userPrefix("pins", port.principal?.name).length);
  for (const config of port.configs())
    if (identity === serverIdentity(config)) void port.catalog.pinsChanged(config.name);
}
