/** The fields of our own entries that have other names elsewhere. */
import type { EntryFields } from "./entry-fields.js";
import { moveEnabled, moveProcess, moveToolFilters } from "./shared-fields.js";

/** `base_url` is not among them: with `endpoint` it is a spelling of our own. */
const ADDRESSES = ["url", "httpUrl", "serverUrl", "server_url", "baseUrl"];

export function moveOwnFields(fields: EntryFields): void {
  for (const key of ["transport", "type", "only", "except"]) fields.move(key);
  moveProcess(fields);
  for (const key of ADDRESSES) fields.move(key, "url");
  moveEnabled(fields);
  moveToolFilters(fields);
}
