/** The error of a server that is there but cannot say what it offers. */
import { CatalogError } from "../errors/catalog-error.js";
import { ToolCallError } from "../errors/tool-call-error.js";

/** What went wrong on the way, or took too long, keeps its own name; an answer that is none becomes `DISCOVERY_FAILED`. */
export function toDiscoveryError(error: unknown, server: string): unknown {
  if (!(error instanceof ToolCallError) || error.code !== "PROTOCOL") return error;
  return new CatalogError({
    code: "DISCOVERY_FAILED",
    server,
    what: `Its tools could not be listed: ${error.what}`,
    next: "Look at what the server answers to tools/list",
    retryable: error.retryable,
    cause: error,
  });
}
