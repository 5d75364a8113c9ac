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
