/** The user's header fields on requests to the MCP endpoint, and nowhere else. */
import type { HeaderSource } from "../../config/server-config.js";
import { redactValues } from "../../util/redact-values.js";
import { checkHeader, revealHeaders } from "../user-headers.js";
import type { Redact } from "./network/answer-error.js";

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

/**
 * Takes the values of these fields, and the token within an `authorization`, out of a text; and those of the query of the
 * URL they went to, which often hold a key or a session.
 */
export function redactHeaders(headers: Readonly<Record<string, string>>, url?: URL): Redact {
  return (text) => {
    const secrets: Record<string, string> = {};
    for (const [name, value] of Object.entries(headers)) {
      if (name === "mcp-session-id" || name === "dpop" || !OWNED.has(name)) secrets[name] = value;
    }
    for (const [name, value] of url?.searchParams ?? []) secrets[`${name} of the query`] = value;
    if (url !== undefined) secrets["query"] = url.search.slice(1);
    const { authorization } = headers;
    const token = authorization?.slice(authorization.indexOf(" ") + 1);
    if (token !== undefined) secrets["authorization token"] = token;
    return redactValues(secrets)(text);
  };
}
