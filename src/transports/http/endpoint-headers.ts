/** The user's header fields on requests to the MCP endpoint, and nowhere else. */
import type { HeaderSource } from "../../config/server-config.js";
import { ConfigError } from "../../errors/config-error.js";
import { ToolportError } from "../../errors/toolport-error.js";
import { redactValues } from "../stdio/redact-values.js";
import type { Redact } from "./answer-error.js";

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

const NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Adds the configured fields to those the SDK made; what an auth provider put there (`authorization`) wins. */
export async function withUserHeaders(
  own: Readonly<Record<string, string>>,
  source: HeaderSource,
): Promise<Record<string, string>> {
  const merged: Record<string, string> = { ...own };
  const given = typeof source === "function" ? await ask(source) : source.reveal();
  for (const [name, value] of Object.entries(given)) {
    if (!NAME.test(name) || typeof value !== "string" || !VALUE.test(value)) throw invalid(name);
    const key = name.toLowerCase();
    if (!OWNED.has(key) && own[key] === undefined) merged[key] = value;
  }
  return merged;
}

async function ask(
  source: Exclude<HeaderSource, { reveal(): unknown }>,
): Promise<Readonly<Record<string, string>>> {
  try {
    return (await source()) ?? {};
  } catch (cause) {
    if (ToolportError.isInstance(cause)) throw cause;
    throw new ConfigError({
      code: "INVALID_CONFIG",
      what: "The `headers` function of the server failed",
      retryable: true,
      cause,
    });
  }
}

function invalid(name: string): ConfigError {
  const shown = NAME.test(name) ? name : "?";
  return new ConfigError({
    code: "INVALID_CONFIG",
    issues: [
      { path: `headers.${shown}`, message: "not a valid HTTP header name and value (no line breaks)" },
    ],
  });
}

/** Takes the values of these fields, and the token within an `authorization`, out of a text. */
export function redactHeaders(headers: Readonly<Record<string, string>>): Redact {
  return (text) => {
    const secrets: Record<string, string> = {};
    for (const [name, value] of Object.entries(headers)) {
      if (name === "mcp-session-id" || name === "dpop" || !OWNED.has(name)) secrets[name] = value;
    }
    const { authorization } = headers;
    const token = authorization?.slice(authorization.indexOf(" ") + 1);
    if (token !== undefined) secrets["authorization token"] = token;
    return redactValues(secrets)(text);
  };
}
