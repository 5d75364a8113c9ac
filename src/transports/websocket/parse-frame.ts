/** One frame's text to one JSON-RPC message. */
import type { JSONRPCMessage, RequestId } from "@modelcontextprotocol/client";
import { answeredIn } from "../batch.js";

/**
 * Nothing when the text is not a single JSON-RPC message; the SDK checks the rest of its shape. Of a batch, the ids of
 * the requests it answers.
 */
export function parseFrame(text: string): JSONRPCMessage | ReadonlySet<RequestId> | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (Array.isArray(value)) return answeredIn(value);
  if (typeof value !== "object" || value === null) return undefined;
  return (value as { jsonrpc?: unknown }).jsonrpc === "2.0" ? (value as JSONRPCMessage) : undefined;
}
