/** The user's header fields on requests to the MCP endpoint, and nowhere else. */
import type { HeaderSource } from "../../config/server-config.js";
import { checkHeader, revealHeaders } from "../user-headers.js";

/** Fields that belong to the transport; a value of the user's would contradict the message it goes with. */
const OWNED: ReadonlySet<string> = new Set([
  "accept",
  "accept-encoding",
  "connection",
  "content-length",
  "content-type",
  "last-event-id",
  "mcp-method",
  "mcp-name",
  "mcp-protocol-version",
  "mcp-session-id",
  "transfer-encoding",
]);

/** Adds the configured fields to those of the transport's own; what an auth provider put there (`authorization`) wins. */
export async function withUserHeaders(
  own: Readonly<Record<string, string>>,
  source: HeaderSource,
): Promise<Record<string, string>> {
  return { ...allowedFields(await revealHeaders(source)), ...own };
}

/** The fields a user may set, by their names in lower case. */
export function allowedFields(given: Readonly<Record<string, string>>): Record<string, string> {
  const fields: Record<string, string> = {};
  for (const [name, value] of Object.entries(given)) {
    checkHeader(name, value);
    const key = name.toLowerCase();
    if (!OWNED.has(key)) fields[key] = value;
  }
  return fields;
}
