/** The headers that the user configured: reads, checks and merges them for all transports. */
import type { HeaderSource } from "../config/server-config.js";
import { ConfigError } from "../errors/config-error.js";
import { ToolportError } from "../errors/toolport-error.js";

const NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

type Fields = Readonly<Record<string, string>>;

/** The current headers, not yet checked. A function is called each time. Returns no promise if they are known at once. */
export function revealHeaders(source: HeaderSource): Fields | Promise<Fields> {
  if (typeof source !== "function") return source.reveal();
  const given = source();
  return given instanceof Promise ? given.then((found) => found ?? {}, failed) : given;
}

function failed(cause: unknown): never {
  if (ToolportError.isInstance(cause)) throw cause;
  throw new ConfigError({
    code: "INVALID_CONFIG",
    what: "The `headers` function of the server failed",
    retryable: true,
    cause,
  });
}

/** Throws, without showing the value, if a header cannot be sent: a line break would split it into two. */
export function checkHeader(name: string, value: unknown): asserts value is string {
  const isName = NAME.test(name);
  if (isName && typeof value === "string" && VALUE.test(value)) return;
  const path = `headers.${isName ? name : "?"}`;
  throw new ConfigError({ code: "INVALID_CONFIG", issues: [{ path, message: problemOf(isName, value) }] });
}

/** Names only the character that cannot be sent: the rest of the value may be a secret. */
function problemOf(isName: boolean, value: unknown): string {
  if (!isName) return "is not a valid name of an HTTP header";
  if (typeof value !== "string") return "must be a string (its value is not shown)";
  const characters = [...value];
  const position = characters.findIndex((character) => !VALUE.test(character));
  const character = characters[position]!;
  const code = character.codePointAt(0)!;
  const shown = code > 0xa0 && /^[\p{L}\p{N}\p{P}\p{S}]$/u.test(character) ? ` (${character})` : "";
  const name = `U+${code.toString(16).toUpperCase().padStart(4, "0")}${shown}`;
  const hint = character === "…" ? "; put the real value in its place" : "";
  return `has ${name} at character ${position + 1}, which an HTTP header cannot contain${hint}`;
}

/** Headers that the transport sets; a configured value would contradict the message. */
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

/** Adds the configured headers to those of the transport, which take precedence (also `authorization` of a provider). */
export function withUserHeaders(own: Fields, source: HeaderSource): Fields | Promise<Fields> {
  const given = revealHeaders(source);
  return given instanceof Promise ? given.then((found) => merge(found, own)) : merge(given, own);
}

function merge(given: Fields, own: Fields): Fields {
  for (const _ in given) return { ...allowedFields(given), ...own };
  return own;
}

/** The headers that a user may set, with lower-case names. */
export function allowedFields(given: Readonly<Record<string, string>>): Record<string, string> {
  const fields: Record<string, string> = {};
  for (const [name, value] of Object.entries(given)) {
    checkHeader(name, value);
    const key = name.toLowerCase();
    if (!OWNED.has(key)) fields[key] = value;
  }
  return fields;
}
