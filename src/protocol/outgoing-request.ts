/** Builds the JSON-RPC messages for own requests, as objects or directly as text. */
import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import type { GiveUpReason } from "../transports/server-transport.js";

type Fields = Readonly<Record<string, unknown>>;

export interface OutgoingRequest {
  readonly id: string;
  readonly method: string;
  readonly params: Fields;
  readonly wantsProgress: boolean;
  /** `_meta` that every request of the connection carries. */
  readonly envelope: Fields | undefined;
  /** Defaults for `_meta`; the request's own fields take precedence. */
  readonly metaDefaults: Fields | undefined;
}

export function toMessage(request: OutgoingRequest): JSONRPCMessage {
  const { id, method, params } = request;
  const meta = metaOf(request);
  // `id` comes early in the text, so that the HTTP transport finds it without parsing large arguments.
  const message = { jsonrpc: "2.0", id, method, params: meta ? { ...params, _meta: meta } : params };
  return message as JSONRPCMessage;
}

/**
 * The message as `JSON.stringify` would write it. Only the values of `params` are stringified: for the whole message it takes
 * four times as long. Method and parameter names are constants of Toolport and need no escaping.
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

const CANCEL_REASONS: Readonly<Record<GiveUpReason, string>> = {
  abort: "The caller aborted the request",
  timeout: "The request timed out",
};

export function toCancellation(id: string, why: GiveUpReason, envelope: Fields | undefined): JSONRPCMessage {
  return {
    jsonrpc: "2.0",
    method: "notifications/cancelled",
    params: { requestId: id, reason: CANCEL_REASONS[why], ...(envelope && { _meta: envelope }) },
  } as JSONRPCMessage;
}

function metaOf({ id, params, wantsProgress, envelope, metaDefaults }: OutgoingRequest): Fields | undefined {
  const own = params["_meta"] as Fields | undefined;
  if (!wantsProgress && envelope === undefined && own === undefined) return undefined;
  return { ...metaDefaults, ...own, ...envelope, ...(wantsProgress && { progressToken: id }) };
}

function metaTextOf(request: OutgoingRequest): string | undefined {
  const { id, params, wantsProgress, envelope, metaDefaults } = request;
  const own = params["_meta"] as Fields | undefined;
  if (wantsProgress && metaDefaults === undefined && (own === undefined || isApart(own, envelope))) {
    const ownText = JSON.stringify(own ?? {});
    const start = ownText === "{}" ? "{" : `${ownText.slice(0, -1)},`;
    return `${start}${envelope === undefined ? "" : innerText(envelope)}"progressToken":"${id}"}`;
  }
  const meta = metaOf(request);
  return meta && JSON.stringify(meta);
}

/** Whether `_meta` is an object of which no field is replaced by the envelope or by our progress token. */
function isApart(own: Fields, envelope: Fields | undefined): boolean {
  if (typeof own !== "object" || own === null || Array.isArray(own) || "toJSON" in own) return false;
  for (const name in own)
    if (name === "progressToken" || (envelope !== undefined && name in envelope)) return false;
  return true;
}

const innerTexts = new WeakMap<Fields, string>();

/** The fields of an immutable object as JSON text, each with a comma after it. Cached. */
function innerText(fields: Fields): string {
  let text = innerTexts.get(fields);
  if (text === undefined) {
    const whole = JSON.stringify(fields);
    text = whole === "{}" ? "" : `${whole.slice(1, -1)},`;
    innerTexts.set(fields, text);
  }
  return text;
}
