/** Batches of JSON-RPC, which went out of the protocol with 2025-06-18: which requests one of them would have answered. */
import type { JSONRPCMessage, RequestId } from "@modelcontextprotocol/client";
import { parseJson } from "../util/json.js";

/** Ids of the answers in a batch that is not taken, so that nobody waits for them. */
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
 * Nothing when the text is not a single JSON-RPC message; the SDK checks the rest of its shape. Of a batch, the ids of
 * the requests it answers.
 */
export function parseMessage(text: string): JSONRPCMessage | ReadonlySet<RequestId> | undefined {
  const value = parseJson(text);
  if (Array.isArray(value)) return responseIds(value);
  if (typeof value !== "object" || value === null) return undefined;
  return (value as { jsonrpc?: unknown }).jsonrpc === "2.0" ? (value as JSONRPCMessage) : undefined;
}

/** Batches went out of the protocol in 2025-06-18; nobody needs a long one. */
const MAX_BATCH = 1_000;

type Fields = Record<string, unknown>;

const isObject = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const isMessage = (value: unknown): value is Fields => isObject(value) && value.jsonrpc === "2.0";

/** An error object of JSON-RPC. */
export interface RpcErrorMessage {
  readonly jsonrpc: "2.0";
  readonly id?: unknown;
  readonly error: { readonly code: number; readonly message: string; readonly data?: unknown };
}

/** Recognises a JSON-RPC error answer, with or without an id. */
export function asRpcError(value: unknown): RpcErrorMessage | undefined {
  if (!isMessage(value) || "method" in value || !isObject(value.error)) return undefined;
  const { code, message } = value.error;
  return typeof code === "number" && typeof message === "string"
    ? (value as unknown as RpcErrorMessage)
    : undefined;
}

/**
 * Makes sure that a JSON body answers request `id`: any other answer would be dropped silently, and the request would
 * wait for its time limit. An error without an id (the server could not read ours) gets it. Returns undefined if there
 * is no answer in it.
 */
export function findResponse(
  id: RequestId,
  body: unknown,
): JSONRPCMessage | readonly JSONRPCMessage[] | undefined {
  const found = findIn(id, body);
  return found as JSONRPCMessage | readonly JSONRPCMessage[] | undefined;
}

function findIn(id: RequestId, body: unknown): unknown {
  if (Array.isArray(body)) {
    const fits = body.length <= MAX_BATCH && body.every(isMessage);
    return fits && body.some((message) => message.id === id && !("method" in message)) ? body : undefined;
  }
  if (!isMessage(body) || "method" in body) return undefined;
  if (body.id === id) return body;
  const error = asRpcError(body);
  return error !== undefined && (error.id === null || error.id === undefined) ? { ...error, id } : undefined;
}
