/** One frame's text to one JSON-RPC message. */
import type { JSONRPCMessage } from "@modelcontextprotocol/client";

/** Nothing when the text is not a single JSON-RPC message; the SDK checks the rest of its shape. */
export function parseFrame(text: string): JSONRPCMessage | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof value !== "object" || value === null) return undefined;
  return (value as { jsonrpc?: unknown }).jsonrpc === "2.0" ? (value as JSONRPCMessage) : undefined;
}
