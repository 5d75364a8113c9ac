/** Sends a request other than `tools/call` to one server and returns the result as the server sent it. */

import type { Fields } from "@toolport/base";
import type { Progress } from "../protocol/pending-request.js";
import type { InputRound, SessionHooks } from "../protocol/session-hooks.js";
import type { Port } from "./port.js";
import type { AccessOptions } from "./server-access.js";

/** A request to one server. */
export interface PortRequest {
  readonly server: string;
  readonly method: string;
  /** With the names and URIs of the server. */
  readonly params: Fields;
  /** The resource or the template that the request is about. */
  readonly uri?: string | undefined;
  /** The prompt that the request is about, by its name on the server. */
  readonly prompt?: string | undefined;
}

export interface PortRequestOptions extends AccessOptions {
  /** Whose request it is. */
  hooks: SessionHooks;
  /** Set to go on with an earlier request. */
  round?: InputRound | undefined;
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
 * All fields of the result are kept; `resultType` is removed if it is "complete".
 *
 * @throws ToolCallError with `rpcCode`, `rpcMessage` and `data` if the server answers with an error
 */
export function sendRequest(
  port: Port,
  request: PortRequest,
  { context, ...options }: PortRequestOptions,
): Promise<Fields> {
  const { server, method, params, uri, prompt } = request;
  const run = () => send(port, request, options);
  if (!hasKind(method)) return run();
  const item = { ...(prompt !== undefined && { name: prompt }), ...(uri !== undefined && { uri }) };
  return port.observe({ kind: KINDS[method], server, ...item, message: params, context }, run);
}

async function send(
  port: Port,
  { server, method, params, uri, prompt }: PortRequest,
  { hooks, round, onProgress, ...wait }: PortRequestOptions,
): Promise<Fields> {
  const { timeoutMs, maxTimeoutMs } = port.parts.settings;
  const connection = port.pool.require(server);
  // The reasons to withhold something are known with the lists.
  if (connection.session === undefined && !port.catalog.knows(server))
    await connection.acquire({ signal: wait.signal, timeoutMs: wait.timeoutMs ?? timeoutMs });
  if (uri !== undefined) port.assertOffered(server, "resources", uri);
  if (prompt !== undefined) port.assertOffered(server, "prompts", prompt);
  const suited = await port.connectionFor(connection, hooks, wait);
  const limits = {
    timeoutMs: wait.timeoutMs ?? timeoutMs,
    // An explicit timeout longer than the maximum raises the maximum.
    maxTimeoutMs: Math.max(maxTimeoutMs, wait.timeoutMs ?? 0),
    signal: wait.signal,
    onProgress,
    hooks,
    round,
  };
  return port.read(
    suited,
    (session) =>
      port.trace(session, { method, uri, prompt }, (meta) =>
        session.request(method, withTrace(params, meta), limits),
      ),
    wait,
  );
}

/** Adds the trace context of the request's span; it replaces that of the client. */
const withTrace = (params: Fields, trace: Readonly<Record<string, string>> | undefined): Fields =>
  trace === undefined
    ? params
    : { ...params, _meta: { ...(params["_meta"] as object | undefined), ...trace } };
