/** A request on its way out: as a message, or as the text of one. */
import type { JSONRPCMessage } from "@modelcontextprotocol/client";

type Fields = Readonly<Record<string, unknown>>;

export interface OutgoingRequest {
  readonly id: string;
  readonly method: string;
  readonly params: Fields;
  readonly wantsProgress: boolean;
  /** `_meta` of every request of the connection. */
  readonly envelope: Fields | undefined;
  /** The same, for requests that do not say otherwise. */
  readonly metaDefaults: Fields | undefined;
}

export function toMessage(request: OutgoingRequest): JSONRPCMessage {
  const { id, method, params } = request;
  const meta = metaOf(request);
  // `id` stands early in the text, so that the HTTP layer finds it without parsing large arguments.
  const message = { jsonrpc: "2.0", id, method, params: meta ? { ...params, _meta: meta } : params };
  return message as JSONRPCMessage;
}

/**
 * What `JSON.stringify` would make of the message. For all of it that takes four times as long as for the arguments, which
 * are nearly all that differs from call to call. Methods and the names of parameters are ours: they need no escapes.
 */
export function toText(request: OutgoingRequest): string {
  const { id, method, params } = request;
  const meta = metaTextOf(request);
  let fields = "";
  for (const name in params) {
    if (name === "_meta") continue;
    const value = JSON.stringify(params[name]);
    if (value !== undefined) fields += `${fields === "" ? "" : ","}"${name}":${value}`;
  }
  if (meta !== undefined) fields += `${fields === "" ? "" : ","}"_meta":${meta}`;
  return `{"jsonrpc":"2.0","id":"${id}","method":"${method}","params":{${fields}}}`;
}

function metaOf({ id, params, wantsProgress, envelope, metaDefaults }: OutgoingRequest): Fields | undefined {
  const own = params["_meta"] as Fields | undefined;
  if (!wantsProgress && envelope === undefined && own === undefined) return undefined;
  return { ...metaDefaults, ...own, ...envelope, ...(wantsProgress && { progressToken: id }) };
}

function metaTextOf(request: OutgoingRequest): string | undefined {
  const { id, params, wantsProgress, envelope, metaDefaults } = request;
  if (wantsProgress && params["_meta"] === undefined && metaDefaults === undefined)
    return `${envelope === undefined ? "{" : openText(envelope)}"progressToken":"${id}"}`;
  const meta = metaOf(request);
  return meta && JSON.stringify(meta);
}

const openTexts = new WeakMap<Fields, string>();

/** An object that never changes, as text that goes on: without its last brace. */
function openText(fields: Fields): string {
  let text = openTexts.get(fields);
  if (text === undefined) {
    const whole = JSON.stringify(fields);
    text = whole === "{}" ? "{" : `${whole.slice(0, -1)},`;
    openTexts.set(fields, text);
  }
  return text;
}
