/** A text that is to be one JSON-RPC message: a frame of a WebSocket, the body of an answer, an event's data. */
import type { JSONRPCMessage, RequestId } from "@modelcontextprotocol/client";
import { parseJson } from "../util/parse-json.js";
import { answeredIn } from "./batch.js";

/**
 * Nothing when the text is not a single JSON-RPC message; the SDK checks the rest of its shape. Of a batch, the ids of
 * the requests it answers.
 */
export function parseMessage(text: string): JSONRPCMessage | ReadonlySet<RequestId> | undefined {
  const value = parseJson(text);
  if (Array.isArray(value)) return answeredIn(value);
  if (typeof value !== "object" || value === null) return undefined;
  return (value as { jsonrpc?: unknown }).jsonrpc === "2.0" ? (value as JSONRPCMessage) : undefined;
}
