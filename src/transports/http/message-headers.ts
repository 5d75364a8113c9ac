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
    const { "mcp-session-id": session, ...rest } = this.forStream();
    const method = "method" in message && "id" in message ? message.method : undefined;
    return {
      ...rest,
      ...(session !== undefined && method !== "initialize" && { "mcp-session-id": session }),
      accept: "application/json, text/event-stream",
      "content-type": "application/json",
      ...(method !== undefined && requestFields(method, message)),
      ...(given && givenFields(given)),
    };
  }

  /** For a GET, optionally resuming after an event. */
  forStream(lastEventId?: string): Fields {
    const source = this.#source;
    const { sessionId, protocolVersion } = this;
    return {
      // A function is called by `Endpoint.send()` for every request.
      ...(typeof source !== "function" && allowedFields(source.reveal())),
      accept: "text/event-stream",
      "accept-encoding": "identity",
      ...(sessionId !== undefined && { "mcp-session-id": sessionId }),
      ...(protocolVersion !== undefined && { "mcp-protocol-version": protocolVersion }),
      ...(lastEventId !== undefined && { "last-event-id": lastEventId }),
    };
  }

  forEnd(): Fields {
    const { accept: _, ...fields } = this.forStream();
    return fields;
  }
}

/** Servers of stateless revisions compare these headers with the message. */
function requestFields(method: string, message: object): Fields | undefined {
  const version = ownVersion(message);
  if (version === undefined || method === "initialize") return undefined;
  const source = NAMED_BY.get(method);
  const name = source === undefined ? undefined : (message as { params: Params }).params[source];
  return {
    "mcp-protocol-version": version,
    "mcp-method": method,
    ...(typeof name === "string" && { "mcp-name": encodeHeaderText(name) }),
  };
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
