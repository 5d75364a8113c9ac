/** Notices pins that another process changed, and compares the tools of the user with them again. */
import type { Catalog } from "../catalog/catalog.js";
import type { ServerConfig } from "../config/server-config.js";
import { serverIdentity, userPrefix } from "../state/server-keys.js";
import type { SharedParts } from "./shared-parts.js";
import { userOf, watchKeys } from "./watch-keys.js";

/** The part of a port that this needs. */
interface PinnedPort {
  readonly principal: { readonly name: string } | undefined;
  readonly catalog: Catalog;
  configs(): readonly ServerConfig[];
}

/** Watches the pins of all users with one watch. Returns a function that stops it. */
export const watchPins = (
  parts: SharedParts,
  portOf: (principal: string | undefined) => PinnedPort | undefined,
): (() => void) => watchKeys(parts, "pins/", (key) => changed(key, portOf));

function changed(key: string, portOf: (principal: string | undefined) => PinnedPort | undefined): void {
  const port = portOf(userOf("pins", key));
  if (port === undefined) return;
  const identity = key.slice(userPrefix("pins", port.principal?.name).length);
  for (const config of port.configs())
    if (identity === serverIdentity(config)) void port.catalog.pinsChanged(config.name);
}
