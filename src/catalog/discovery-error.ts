/** The error of a connected server whose lists cannot be read. */
import { CatalogError } from "../errors/catalog-error.js";
import { ToolCallError } from "../errors/tool-call-error.js";

/** Connection errors and timeouts stay as they are; an invalid response becomes `DISCOVERY_FAILED`. */
export function toDiscoveryError(error: unknown, server: string): unknown {
  if (!(error instanceof ToolCallError) || error.code !== "PROTOCOL") return error;
  return new CatalogError({
    code: "DISCOVERY_FAILED",
    server,
    what: `Its tools could not be listed: ${error.what}`,
    next: "Check the response of the server to tools/list",
    retryable: error.retryable,
    cause: error,
  });
}
