/** A catalog as plain JSON, for a process that has not connected its servers yet. */
import { ConfigError, isRecord } from "@toolport/base";
import type { Session } from "../protocol/session.js";
import type { Kept } from "./kept-lists.js";
import { NOT_EXAMINED } from "./safety/examine-lists.js";
import { type ListKey, type ServerLists, usable } from "./server-lists.js";
import { readTools } from "./source-tool.js";

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
  return value as Partial<CatalogExport> as CatalogExport;
}

export function exportServer({ lists, session }: Kept): ExportedServer {
  return {
    tools: lists.tools.tools.map((tool) => tool.raw),
    resources: lists.resources,
    resourceTemplates: lists.resourceTemplates,
    prompts: lists.prompts,
    era: session?.era,
    transport: session?.transport,
  };
}

/** Only the lists that the server was asked for. */
export function exportRead(kept: Kept): Partial<ExportedServer> {
  const { era, transport, ...lists } = exportServer(kept);
  const read = Object.entries(lists).filter(([key]) => kept.reads[key as ListKey] !== undefined);
  return { ...Object.fromEntries(read), era, transport };
}

export function restoreServer(exported: ExportedServer, origin: Kept["origin"]): Kept {
  const session = {
    era: exported.era ?? "legacy",
    transport: (exported.transport ?? "custom") as Session["transport"],
  };
  const lists: ServerLists = {
    tools: readTools(exported.tools ?? [], session),
    resources: usable(exported.resources ?? [], "uri"),
    resourceTemplates: usable(exported.resourceTemplates ?? [], "uriTemplate"),
    prompts: usable(exported.prompts ?? [], "name"),
  };
  return { lists, reads: {}, ...NOT_EXAMINED, session, origin };
}
