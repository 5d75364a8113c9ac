/** Parses JSON-RPC messages, and finds the response to a request in a JSON body. */
import type { JSONRPCMessage, RequestId } from "@modelcontextprotocol/client";
import { isRecord, parseJson } from "../util/json.js";

/** Ids of the responses in a rejected batch, so that their requests can fail at once. */
export function responseIds(batch: readonly unknown[]): Set<RequestId> {
  const ids = new Set<RequestId>();
  for (const entry of batch) {
    if (typeof entry !== "object" || entry === null || "method" in entry) continue;
    const { id } = entry as { id?: unknown };
    if (typeof id === "string" || typeof id === "number") ids.add(id);
  }
  return ids;
}

/**
 * Parses one message; the SDK checks the rest of its structure. Returns the ids of the requests it answers for a batch
 * (batches were removed from the protocol in 2025-06-18), and undefined for anything else.
 */
export function parseMessage(text: string): JSONRPCMessage | ReadonlySet<RequestId> | undefined {
  const value = parseJson(text);
  if (Array.isArray(value)) return responseIds(value);
  if (typeof value !== "object" || value === null) return undefined;
  return (value as { jsonrpc?: unknown }).jsonrpc === "2.0" ? (value as JSONRPCMessage) : undefined;
}

/** Maximum number of messages in a batch, which only servers of old revisions send. */
const MAX_BATCH = 1_000;

const isMessage = (value: unknown): value is Record<string, unknown> =>
  isRecord(value) && value.jsonrpc === "2.0";

/** A JSON-RPC error response. */
export interface RpcErrorMessage {
  readonly jsonrpc: "2.0";
  readonly id?: unknown;
  readonly error: { readonly code: number; readonly message: string; readonly data?: unknown };
}

/** The value as a JSON-RPC error response, with or without an id; undefined if it is none. */
export function asRpcError(value: unknown): RpcErrorMessage | undefined {
  if (!isMessage(value) || "method" in value || !isRecord(value.error)) return undefined;
  const { code, message } = value.error;
  return typeof code === "number" && typeof message === "string"
    ? (value as unknown as RpcErrorMessage)
    : undefined;
}

/**
 * Finds the response to request `id` in a JSON body. Any other message would be dropped silently, and the request would
 * wait for its timeout. An error without an id (the server could not parse the request) gets this id. Returns undefined
 * if there is no response.
 */
export function findResponse(
  id: RequestId,
  body: unknown,
): JSONRPCMessage | readonly JSONRPCMessage[] | undefined {
  if (Array.isArray(body)) {
    const fits = body.length <= MAX_BATCH && body.every(isMessage);
    const isAnswer = fits && body.some((message) => message.id === id && !("method" in message));
    return isAnswer ? (body as unknown as JSONRPCMessage[]) : undefined;
  }
  if (!isMessage(body) || "method" in body) return undefined;
  if (body.id === id) return body as unknown as JSONRPCMessage;
  const error = asRpcError(body);
  return error !== undefined && (error.id === null || error.id === undefined)
    ? ({ ...error, id } as JSONRPCMessage)
    : undefined;
}
