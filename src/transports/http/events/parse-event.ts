/** The fields of one server-sent event. */
import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import { ConnectionError } from "../../../errors/connection-error.js";
import { parseMessage } from "../../json-rpc-message.js";
import type { EndpointContext } from "../endpoint-context.js";

export interface ServerEvent {
  /** Empty or `message` for messages. */
  readonly type: string;
  /** Undefined where there is no `data` field at all. */
  readonly data: string | undefined;
  readonly id: string | undefined;
  readonly retryMs: number | undefined;
}

const decoder = new TextDecoder();

/** @param bytes one event, with its empty line */
export function parseEvent(bytes: Uint8Array): ServerEvent {
  let text = decoder.decode(bytes);
  if (text.includes("\r")) text = text.replace(/\r\n?/g, "\n");
  let type = "";
  let data: string | undefined;
  let id: string | undefined;
  let retryMs: number | undefined;
  for (let start = 0; start < text.length; ) {
    const newline = text.indexOf("\n", start);
    const end = newline === -1 ? text.length : newline;
    const colon = text.indexOf(":", start);
    const nameEnd = colon === -1 || colon > end ? end : colon;
    // One space after the colon belongs to the colon.
    const valueStart = nameEnd + (text[nameEnd + 1] === " " ? 2 : 1);
    const value = valueStart < end ? text.slice(valueStart, end) : "";
    switch (text.slice(start, nameEnd)) {
      case "data":
        data = data === undefined ? value : `${data}\n${value}`;
        break;
      case "event":
        type = value;
        break;
      case "id":
        if (!value.includes("\0")) id = value;
        break;
      case "retry":
        if (/^\d+$/.test(value)) retryMs = Number(value);
        break;
    }
    start = end + 1;
  }
  return { type, data, id, retryMs };
}

/** Undefined where the event holds none: it is of another type, empty, or not JSON-RPC (which is reported). */
export function readMessage(
  { type, data }: ServerEvent,
  context: EndpointContext,
): JSONRPCMessage | undefined {
  if (data === undefined || data === "" || (type !== "" && type !== "message")) return undefined;
  const parsed = parseMessage(data);
  if (parsed !== undefined && !(parsed instanceof Set)) return parsed as JSONRPCMessage;
  const error = noMessage();
  // Whoever waits for an response in a batch would wait for nothing.
  for (const id of parsed ?? []) context.onDiscard({ id, error });
  context.onError(error);
  return undefined;
}

function noMessage(): ConnectionError {
  return new ConnectionError({
    code: "BAD_RESPONSE",
    what: "The server sent an event that is not a JSON-RPC message; it is skipped",
  });
}
