/** Sends a request of a gateway's client, other than `tools/call`, to one server and returns the result as the server sent it. */
import { reportRising } from "../execution/relay-result.js";
import type { Progress } from "../protocol/pending-request.js";
import type { Relay } from "../protocol/relay.js";
import { promptWithheld } from "./get-prompt.js";
import type { Port } from "./port.js";
import { resourceWithheld } from "./resources/read-resource.js";
import type { AccessOptions } from "./server-access.js";

/** A request to one server. */
export interface RelayedRequest {
  readonly server: string;
  readonly method: string;
  /** As the client sent them, with the names and URIs of the server. */
  readonly params: Record<string, unknown>;
  /** The resource or the template that the request is about. */
  readonly uri?: string | undefined;
  /** The prompt that the request is about, by its name on the server. */
  readonly prompt?: string | undefined;
}

export interface RelayedRequestOptions extends AccessOptions {
  /** Receives the progress of the request. @default none is requested */
  onProgress?: ((progress: Progress) => void) | undefined;
}

/** The kinds of events that listeners know; other methods emit none. */
const KINDS = {
  "resources/read": "resource",
  "prompts/get": "prompt",
  "completion/complete": "completion",
} as const;

const hasKind = (method: string): method is keyof typeof KINDS => Object.hasOwn(KINDS, method);

/**
 * Sends one request. All fields of the result are kept; `resultType` is removed if it is "complete".
 *
 * @throws ToolCallError with `rpcCode`, `rpcMessage` and `data` if the server answers with an error
 */
export function relayRequest(
  port: Port,
  request: RelayedRequest,
  relay: Relay,
  { context, ...wait }: RelayedRequestOptions = {},
): Promise<Record<string, unknown>> {
  const { server, method, params, uri, prompt } = request;
  const send = () => sendRelayed(port, request, relay, wait);
  if (!hasKind(method)) return send();
  const item = { ...(prompt !== undefined && { name: prompt }), ...(uri !== undefined && { uri }) };
  return port.observe({ kind: KINDS[method], server, ...item, message: params, context }, send);
}

async function sendRelayed(
  port: Port,
  { server, method, params, uri, prompt }: RelayedRequest,
  relay: Relay,
  { onProgress, ...wait }: RelayedRequestOptions,
): Promise<Record<string, unknown>> {
  const { timeoutMs, maxTimeoutMs } = port.parts.settings;
  const connection = port.pool.require(server);
  // The reasons to withhold something are known with the lists.
  if (connection.session === undefined && !port.catalog.knows(server))
    await connection.acquire({ signal: wait.signal, timeoutMs: wait.timeoutMs ?? timeoutMs });
  if (uri !== undefined) {
    const reason = port.catalog.refusalOf(server, "resources", uri);
    if (reason !== undefined) throw resourceWithheld(server, uri, reason);
  }
  if (prompt !== undefined) {
    const reason = port.catalog.refusalOf(server, "prompts", prompt);
    if (reason !== undefined) throw promptWithheld(server, prompt, reason);
  }
  const suited = await port.connectionFor(connection, relay, wait);
  const limits = {
    timeoutMs: wait.timeoutMs ?? timeoutMs,
    // An explicit timeout longer than the maximum raises the maximum.
    maxTimeoutMs: Math.max(maxTimeoutMs, wait.timeoutMs ?? 0),
    signal: wait.signal,
    onProgress: onProgress && ((report: Progress) => reportRising(relay, report, { reported: onProgress })),
    relay,
  };
  const result = await port.read(
    suited,
    (session) =>
      port.trace(session, { method, uri, prompt }, (meta) =>
        session.request(method, withTrace(params, meta), limits),
      ),
    wait,
  );
  relay.raw = result;
  relay.server = server;
  return result;
}

/** Adds the trace context of the request's span; it replaces that of the client. */
const withTrace = (
  params: Record<string, unknown>,
  trace: Readonly<Record<string, string>> | undefined,
): Record<string, unknown> =>
  trace === undefined
    ? params
    : { ...params, _meta: { ...(params["_meta"] as object | undefined), ...trace } };
