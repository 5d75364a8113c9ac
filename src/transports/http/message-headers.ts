/** The headers of a message: those that the transport sets, and those that the user configured. */
import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import type { HeaderSource } from "../../config/server-config.js";
import { ConfigError, ToolportError } from "../../errors/toolport-error.js";
import { encodeHeaderText } from "../../util/text.js";

const PROTOCOL_VERSION_META = "io.modelcontextprotocol/protocolVersion";

type Fields = Record<string, string>;
type Params = { readonly _meta?: Readonly<Record<string, unknown>> } & Readonly<Record<string, unknown>>;

/** The parameter that the header `mcp-name` repeats, by method (stateless revisions only). */
const NAMED_BY: ReadonlyMap<string, string> = new Map([
  ["tools/call", "name"],
  ["prompts/get", "name"],
  ["resources/read", "uri"],
  ["tasks/get", "taskId"],
  ["tasks/update", "taskId"],
  ["tasks/cancel", "taskId"],
]);

/** The protocol version in a request of a stateless revision. */
export function ownVersion(message: object): string | undefined {
  const version = (message as { params?: Params }).params?._meta?.[PROTOCOL_VERSION_META];
  return typeof version === "string" ? version : undefined;
}

/** Headers of one connection. */
export class MessageHeaders {
  sessionId: string | undefined;
  protocolVersion: string | undefined;
  readonly #source: HeaderSource;

  constructor(source: HeaderSource) {
    this.#source = source;
  }

  /** For a POST. `initialize` starts a session, so it has no session id. */
  forMessage(message: JSONRPCMessage, given?: Readonly<Fields>): Fields {
    const method = "method" in message && "id" in message ? message.method : undefined;
    const fields = this.#fields("application/json, text/event-stream");
    fields["content-type"] = "application/json";
    if (method === "initialize") delete fields["mcp-session-id"];
    else if (method !== undefined) addRequestFields(fields, method, message);
    return given === undefined ? fields : { ...fields, ...givenFields(given) };
  }

  /** For a GET, optionally resuming after an event. */
  forStream(lastEventId?: string): Fields {
    const fields = this.#fields("text/event-stream");
    if (lastEventId !== undefined) fields["last-event-id"] = lastEventId;
    return fields;
  }

  forEnd(): Fields {
    const { accept: _, ...fields } = this.forStream();
    return fields;
  }

  #fields(accept: string): Fields {
    const source = this.#source;
    // A function is called by `Endpoint.send()` for every request.
    const fields = typeof source === "function" ? {} : allowedFields(source.reveal());
    fields["accept"] = accept;
    fields["accept-encoding"] = "identity";
    if (this.sessionId !== undefined) fields["mcp-session-id"] = this.sessionId;
    if (this.protocolVersion !== undefined) fields["mcp-protocol-version"] = this.protocolVersion;
    return fields;
  }
}

/** Servers of stateless revisions compare these headers with the message. */
function addRequestFields(fields: Fields, method: string, message: object): void {
  const version = ownVersion(message);
  if (version === undefined) return;
  const source = NAMED_BY.get(method);
  const name = source === undefined ? undefined : (message as { params: Params }).params[source];
  fields["mcp-protocol-version"] = version;
  fields["mcp-method"] = method;
  if (typeof name === "string") fields["mcp-name"] = encodeHeaderText(name);
}

/** The headers that the caller sets for this message. `Endpoint` adds the credentials. */
function givenFields(given: Readonly<Fields>): Fields {
  const { authorization: _, dpop: __, ...allowed } = allowedFields(given);
  return allowed;
}

/** The `authorization` header that the caller sets for this message. */
export function ownAuthorization(given: Readonly<Fields> | undefined): string | undefined {
  if (given === undefined) return undefined;
  return Object.entries(given).find(([name]) => name.toLowerCase() === "authorization")?.[1];
}

const NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** The current headers, not yet checked. A function is called each time. Returns no promise if they are known at once. */
export function revealHeaders(source: HeaderSource): Readonly<Fields> | Promise<Readonly<Fields>> {
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
export function withUserHeaders(
  own: Readonly<Fields>,
  source: HeaderSource,
): Readonly<Fields> | Promise<Readonly<Fields>> {
  const given = revealHeaders(source);
  return given instanceof Promise ? given.then((found) => merge(found, own)) : merge(given, own);
}

function merge(given: Readonly<Fields>, own: Readonly<Fields>): Readonly<Fields> {
  for (const _ in given) return { ...allowedFields(given), ...own };
  return own;
}

/** The headers that a user may set, with lower-case names. */
function allowedFields(given: Readonly<Fields>): Fields {
  const fields: Fields = {};
  for (const [name, value] of Object.entries(given)) {
    checkHeader(name, value);
    const key = name.toLowerCase();
    if (!OWNED.has(key)) fields[key] = value;
  }
  return fields;
}
