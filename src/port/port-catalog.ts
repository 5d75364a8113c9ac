/** Ties the catalog of one port to its options, its store and those who listen. */
import { Catalog } from "../catalog/catalog.js";
import { Pins } from "../catalog/safety/pins.js";
import type { Port } from "./port.js";

const LIST_TIMEOUT_MS = 15_000;

export function createPortCatalog(port: Port): Catalog {
  const { parts, principal } = port;
  const { settings, emitter, warn } = parts;
  const ownNames = () => port.own.names;
  return new Catalog({
    naming: {
      prefix: settings.prefix,
      additionalToolNamePrefix: settings.additionalToolNamePrefix,
      toolNameMapper: settings.toolNameMapper,
      toolSpecificationMapper: settings.toolSpecificationMapper,
      get reserved() {
        return ownNames();
      },
    },
    filters: port.filters,
    pins: new Pins(settings.pins, settings.store, principal?.name),
    scan: settings.scan,
    cache: settings.cache,
    listTimeoutMs: LIST_TIMEOUT_MS,
    servers: () => port.pool.all().map(({ config }) => config),
    onChanged: (server) => emitter.emit("tools", { server, principal: principal?.name }),
    onRead: (server, lists) => port.saved?.keepLists(server, lists),
    onListsChanged: (server, lists) =>
      emitter.emit("listsChanged", { server, lists, principal: principal?.name }),
    onToolChanged: (change) => {
      warn(change.server, `The definition of ${change.tool} changed since it was pinned`);
      emitter.emit("toolChanged", { ...change, principal: principal?.name });
    },
    onWarning: warn,
  });
}
