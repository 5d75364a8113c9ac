/** The headers that the transport itself sets: those of the connection and those of one message. */
import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import type { HeaderSource } from "../../config/server-config.js";
import { encodeHeaderText } from "../../util/header-text.js";
import { allowedFields } from "../user-headers.js";

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
export function ownVersion(message: JSONRPCMessage): string | undefined {
  const version = (message as { params?: Params }).params?._meta?.[PROTOCOL_VERSION_META];
  return typeof version === "string" ? version : undefined;
}

/** Headers of one connection. The common part is built once and copied. */
export class MessageHeaders {
  readonly #source: HeaderSource;
  #sessionId: string | undefined;
  #protocolVersion: string | undefined;
  #common: Readonly<Fields> | undefined;
  #post: Readonly<Fields> | undefined;

  constructor(source: HeaderSource) {
    this.#source = source;
  }

  get sessionId(): string | undefined {
    return this.#sessionId;
  }

  set sessionId(id: string | undefined) {
    this.#sessionId = id;
    this.#common = this.#post = undefined;
  }

  get protocolVersion(): string | undefined {
    return this.#protocolVersion;
  }

  set protocolVersion(version: string | undefined) {
    this.#protocolVersion = version;
    this.#common = this.#post = undefined;
  }

  /** For a POST. `initialize` starts a session, so it has no session id. */
  forMessage(message: JSONRPCMessage, given?: Readonly<Fields>): Fields {
    this.#post ??= {
      ...this.forStream(),
      accept: "application/json, text/event-stream",
      "content-type": "application/json",
    };
    const fields = { ...this.#post };
    if ("method" in message && "id" in message) {
      if (message.method === "initialize") delete fields["mcp-session-id"];
      const version = ownVersion(message);
      if (version !== undefined) addModern(fields, version, message);
    }
    if (given !== undefined) addGiven(fields, given);
    return fields;
  }

  /** For a GET, optionally resuming after an event. */
  forStream(lastEventId?: string): Fields {
    this.#common ??= this.#make();
    return { ...this.#common, ...(lastEventId !== undefined && { "last-event-id": lastEventId }) };
  }

  forEnd(): Fields {
    const { accept: _, ...fields } = this.forStream();
    return fields;
  }

  #make(): Fields {
    const source = this.#source;
    const sessionId = this.#sessionId;
    const version = this.#protocolVersion;
    return {
      // A function is called by `Endpoint.send()` for every request.
      ...(typeof source === "function" ? {} : allowedFields(source.reveal())),
      accept: "text/event-stream",
      "accept-encoding": "identity",
      ...(sessionId !== undefined && { "mcp-session-id": sessionId }),
      ...(version !== undefined && { "mcp-protocol-version": version }),
    };
  }
}

/** Servers of stateless revisions compare these headers with the message. */
function addModern(fields: Fields, version: string, message: { method: string; params?: unknown }): void {
  fields["mcp-protocol-version"] = version;
  fields["mcp-method"] = message.method;
  const source = NAMED_BY.get(message.method);
  const name = source === undefined ? undefined : (message.params as Params)[source];
  if (typeof name === "string") fields["mcp-name"] = encodeHeaderText(name);
}

/** Headers that the caller sets for this message. `Endpoint` adds the credentials. */
function addGiven(fields: Fields, given: Readonly<Fields>): void {
  const allowed = allowedFields(given);
  for (const name of Object.keys(allowed)) {
    if (name !== "authorization" && name !== "dpop") fields[name] = allowed[name]!;
  }
}

/** The `authorization` header that the caller sets for this message. */
export function ownAuthorization(given: Readonly<Fields> | undefined): string | undefined {
  if (given === undefined) return undefined;
  return Object.entries(given).find(([name]) => name.toLowerCase() === "authorization")?.[1];
}
