/** Creates the catalog of a port from its options, its store and its events. */
import { Catalog } from "../catalog/catalog.js";
import type { CatalogOptions } from "../catalog/catalog-options.js";
import type { FilterSet } from "../catalog/filters/filter-set.js";
import type { SharedLists } from "../catalog/public-lists.js";
import { Pins } from "../catalog/safety/pins.js";
import type { SharedSnapshots } from "../catalog/shared-snapshots.js";
import type { ServerConfig } from "../config/server-config.js";
import type { ConnectionPool } from "../connection/connection-pool.js";
import { serverIdentity } from "../state/server-keys.js";
import type { SharedParts } from "./shared-parts.js";

const LIST_TIMEOUT_MS = 15_000;

/** The part of a port that its catalog needs. */
interface CatalogHost {
  readonly parts: SharedParts;
  readonly principal: { readonly name: string } | undefined;
  readonly filters: FilterSet;
  readonly isLean: boolean;
  readonly lean: { readonly snapshots: SharedSnapshots };
  readonly pool: ConnectionPool;
  readonly own: { readonly names: readonly string[] };
  readonly saved: { keepLists: NonNullable<CatalogOptions["onRead"]> } | undefined;
  configs(): readonly ServerConfig[];
}

export function createPortCatalog(port: CatalogHost): Catalog {
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
    pins: new Pins(settings.pins, {
      store: settings.store,
      principal: principal?.name,
      identityOf: (server) => {
        const config = port.pool.configOf(server);
        return config && serverIdentity(config);
      },
    }),
    scan: settings.scan,
    cache: settings.cache,
    listTimeoutMs: LIST_TIMEOUT_MS,
    servers: () => port.configs(),
    onChanged: (server) => emitter.emit("tools", { server, principal: principal?.name }),
    snapshots: port.isLean ? { shared: port.lean.snapshots, filters: parts.filters } : undefined,
    publicLists: sharedListsOf(port),
    onRead: (server, lists, publicKeys) => port.saved?.keepLists(server, lists, publicKeys),
    onListsChanged: (server, lists) =>
      emitter.emit("listsChanged", { server, lists, principal: principal?.name }),
    onToolChanged: (change) => {
      warn(change.server, `The definition of ${change.tool} changed since it was pinned`);
      emitter.emit("toolChanged", { ...change, principal: principal?.name });
    },
    onWarning: warn,
  });
}

function sharedListsOf(port: CatalogHost): SharedLists {
  const { publicLists, settings } = port.parts;
  const configOf = (server: string) => port.pool.configOf(server);
  return {
    fresh(server, key) {
      const config = configOf(server);
      return config && publicLists.fresh(config, key, config.cache ?? settings.cache);
    },
    keep(server, key, list) {
      const config = configOf(server);
      if (config !== undefined) publicLists.keep(config, key, list);
    },
    changed(server, list) {
      const config = configOf(server);
      if (config !== undefined) publicLists.changed(config, list);
    },
    onReplaced(server, listener) {
      const config = configOf(server);
      return config === undefined ? () => {} : publicLists.onReplaced(config, listener);
    },
  };
}
