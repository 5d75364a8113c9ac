/** The error of a call to a tool that is listed but not offered. */
import { CatalogError } from "../../errors/catalog-error.js";
import type { WithheldTool } from "../../model/tool-info.js";
import { CHANGED, UNCHECKED } from "./examine-lists.js";

/** `TOOL_CHANGED` if the user can accept a new definition, otherwise `TOOL_WITHHELD`. */
export function withheldError({ server, name, reason }: WithheldTool): CatalogError {
  return new CatalogError({
    code: reason === CHANGED ? "TOOL_CHANGED" : "TOOL_WITHHELD",
    server,
    tool: name,
    what: `The tool is withheld: ${reason}`,
    next: adviceOn(reason),
    reason,
  });
}

function adviceOn(reason: string): string {
  if (reason === CHANGED) return "Review the new definition, and accept it with approveTools()";
  if (reason.startsWith(UNCHECKED)) return "Repair the store; the next call compares the definitions again";
  return "Check the filters, or withheldTools in snapshot()";
}
