/** Dependencies and options of a catalog. */
import type { ServerConfig } from "../config/server-config.js";
import type { CacheOption } from "../config/server-entry.js";
import type { ListName } from "../protocol/change-watch.js";
import type { NamingOptions, SharedSnapshots } from "./build-snapshot.js";
import type { ExportedServer } from "./exported-catalog.js";
import type { FilterSet } from "./filters/filters.js";
import type { ChangedTool, Pins } from "./safety/pins.js";
import type { ScanHook } from "./safety/scan.js";
import type { ListKey } from "./server-lists.js";

export interface CatalogOptions {
  naming: NamingOptions;
  filters: FilterSet;
  pins: Pins;
  scan: ScanHook | undefined;
  cache: CacheOption;
  listTimeoutMs: number;
  /** The servers in their configured order, which decides who keeps a plain name. */
  servers: () => readonly ServerConfig[];
  onChanged: (server: string) => void;
  /** Snapshots that users with the same lists share; undefined: this port shares none. */
  snapshots?: { readonly shared: SharedSnapshots; readonly filters: FilterSet } | undefined;
  /** The lists of a server were read from the server itself. Lists that it was not asked for are missing. */
  onRead?:
    | ((server: string, lists: () => Partial<ExportedServer>, publicKeys: readonly ListKey[]) => void)
    | undefined;
  /** The server reported changes of these lists, and they have been read again. */
  onListsChanged: (server: string, lists: readonly ListName[]) => void;
  onToolChanged: (change: ChangedTool) => void;
  onWarning: (server: string, message: string) => void;
}
