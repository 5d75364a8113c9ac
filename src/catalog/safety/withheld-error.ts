/** The error of a call to a tool that is listed but not offered. */
import { CatalogError } from "../../errors/catalog-error.js";
import type { WithheldTool } from "../tool-info.js";
import { CHANGED } from "./pins.js";

/** `TOOL_CHANGED` where somebody only has to agree to a new definition, else `TOOL_WITHHELD`. */
export function withheldError({ server, name, reason }: WithheldTool): CatalogError {
  const isChanged = reason === CHANGED;
  return new CatalogError({
    code: isChanged ? "TOOL_CHANGED" : "TOOL_WITHHELD",
    server,
    tool: name,
    what: `The tool is withheld: ${reason}`,
    next: isChanged
      ? "Look at the new definition, and accept it with approveTools()"
      : "Look at the filters, or at withheldTools in snapshot()",
    reason,
  });
}
