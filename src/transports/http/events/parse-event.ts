/** Parses a server-sent event and the JSON-RPC message in it. */
import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import { ConnectionError } from "../../../errors/toolport-error.js";
import { parseMessage } from "../../json-rpc-message.js";
import type { EndpointContext } from "../open-requests.js";

export interface ServerEvent {
  /** Empty or `message` for messages. */
  readonly type: string;
  /** Undefined if the event has no `data` field. */
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
    // One space after the colon is not part of the value.
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

/** Undefined if the event contains no message: another type, no data, or not JSON-RPC (which is reported). */
export function readMessage(
  { type, data }: ServerEvent,
  context: EndpointContext,
): JSONRPCMessage | undefined {
  if (data === undefined || data === "" || (type !== "" && type !== "message")) return undefined;
  const parsed = parseMessage(data);
  if (parsed !== undefined && !(parsed instanceof Set)) return parsed as JSONRPCMessage;
  const error = noMessage();
  // Fail the requests that the batch answers, or they would wait for their timeouts.
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
