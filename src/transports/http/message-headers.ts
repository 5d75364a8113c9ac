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

/** Names of resources can be many. */
const MAX_REQUESTS = 256;

/** The protocol version in a request of a stateless revision. */
export function ownVersion(message: object): string | undefined {
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
  /** By method and name: most requests repeat those of an earlier one. */
  readonly #requests = new Map<string, Readonly<Fields>>();

  constructor(source: HeaderSource) {
    this.#source = source;
  }

  get sessionId(): string | undefined {
    return this.#sessionId;
  }

  set sessionId(id: string | undefined) {
    this.#sessionId = id;
    this.#forget();
  }

  get protocolVersion(): string | undefined {
    return this.#protocolVersion;
  }

  set protocolVersion(version: string | undefined) {
    this.#protocolVersion = version;
    this.#forget();
  }

  /** For a POST. `initialize` starts a session, so it has no session id. The result may be shared by several messages. */
  forMessage(message: JSONRPCMessage, given?: Readonly<Fields>): Readonly<Fields> {
    this.#post ??= {
      ...this.forStream(),
      accept: "application/json, text/event-stream",
      "content-type": "application/json",
    };
    const fields =
      "method" in message && "id" in message ? this.#forRequest(message, this.#post) : this.#post;
    return given === undefined ? fields : withGiven(fields, given);
  }

  #forRequest(
    message: { readonly method: string; readonly params?: unknown },
    post: Readonly<Fields>,
  ): Readonly<Fields> {
    const { method } = message;
    if (method === "initialize") {
      const { "mcp-session-id": _, ...fields } = post;
      return fields;
    }
    const version = ownVersion(message);
    if (version === undefined) return post;
    const source = NAMED_BY.get(method);
    const named = source === undefined ? undefined : (message.params as Params)[source];
    const name = typeof named === "string" ? named : undefined;
    const key = `${version} ${method} ${name ?? ""}`;
    const known = this.#requests.get(key);
    if (known !== undefined) return known;
    const fields = {
      ...post,
      "mcp-protocol-version": version,
      "mcp-method": method,
      ...(name !== undefined && { "mcp-name": encodeHeaderText(name) }),
    };
    if (this.#requests.size >= MAX_REQUESTS) this.#requests.clear();
    this.#requests.set(key, fields);
    return fields;
  }

  #forget(): void {
    this.#common = this.#post = undefined;
    this.#requests.clear();
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
/** With the headers that the caller sets for this message. `Endpoint` adds the credentials. */
function withGiven(fields: Readonly<Fields>, given: Readonly<Fields>): Fields {
  const { authorization: _, dpop: __, ...allowed } = allowedFields(given);
  return { ...fields, ...allowed };
}

/** The `authorization` header that the caller sets for this message. */
export function ownAuthorization(given: Readonly<Fields> | undefined): string | undefined {
  if (given === undefined) return undefined;
  return Object.entries(given).find(([name]) => name.toLowerCase() === "authorization")?.[1];
}
