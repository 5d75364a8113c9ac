/** The message within an event. */
import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import { ConnectionError } from "../../errors/connection-error.js";
import { parseMessage } from "../parse-message.js";
import type { EndpointContext } from "./endpoint-context.js";
import type { ServerEvent } from "./events/parse-event.js";

/** Undefined where the event holds none: it is of another type, empty, or not JSON-RPC (which is reported). */
export function readMessage(
  { type, data }: ServerEvent,
  context: EndpointContext,
): JSONRPCMessage | undefined {
  if (data === undefined || data === "" || (type !== "" && type !== "message")) return undefined;
  const parsed = parseMessage(data);
  if (parsed !== undefined && !(parsed instanceof Set)) return parsed as JSONRPCMessage;
  const error = noMessage();
  // Whoever waits for an answer in a batch would wait for nothing.
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
