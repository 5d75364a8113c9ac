/** A catalog as plain JSON, for a process that has not connected its servers yet. */
import { ConfigError } from "../errors/toolport-error.js";
import { isRecord } from "../util/json.js";

/** The lists of one server, as it sent them. */
export interface ExportedServer {
  readonly tools: readonly unknown[];
  readonly resources: readonly unknown[];
  readonly resourceTemplates: readonly unknown[];
  readonly prompts: readonly unknown[];
  readonly era?: "legacy" | "modern" | undefined;
  readonly transport?: string | undefined;
}

/** Returned by {@link Toolport.exportCatalog}, and accepted by the option `catalog`. */
export interface CatalogExport {
  readonly toolport: 1;
  readonly servers: Readonly<Record<string, ExportedServer>>;
}

/** Validates an export, which is untrusted. */
export function readCatalogExport(value: unknown): CatalogExport {
  const servers = isRecord(value) ? value["servers"] : undefined;
  if (!isRecord(value) || value["toolport"] !== 1 || !isRecord(servers)) {
    throw new ConfigError({
      code: "INVALID_CONFIG",
      issues: [{ path: "catalog", message: "must be the return value of exportCatalog()" }],
      next: "Export the catalog again with this version",
    });
  }
  return value as unknown as CatalogExport;
}
