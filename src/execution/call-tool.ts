/** One tool call, from a catalog entry to its result. */
import type { CatalogEntry } from "../catalog/catalog.js";
import { runOnSession } from "../connection/run-on-session.js";
import type { ServerConnection } from "../connection/server-connection.js";
import { toToolportError } from "../errors/to-toolport-error.js";
import { ToolCallError } from "../errors/tool-call-error.js";
import { paramHeaders } from "../protocol/param-headers.js";
import type { Progress } from "../protocol/pending-request.js";
import { type ToolResult, toToolResult } from "./tool-result.js";

/** What a caller may say about one call. */
export interface CallToolOptions {
  /** Longest silence of the server's; progress counts as a sign of life. @default the server's, then the port's (60 s) */
  timeoutMs?: number;
  /** Ends the call; the server is told. */
  signal?: AbortSignal;
  onProgress?: (progress: Progress) => void;
  /** The call may run twice: it is repeated when its outcome is unknown. @default false */
  idempotent?: boolean;
  /** `_meta` of the request. */
  meta?: Readonly<Record<string, unknown>>;
}

export interface CallLimits {
  timeoutMs: number;
  maxTimeoutMs: number;
  /** Told when a callback of the caller's throws. */
  report: (error: unknown) => void;
}

export interface ToolCall {
  entry: CatalogEntry;
  connection: ServerConnection;
  args: Readonly<Record<string, unknown>>;
  /** Reads the server's list anew and finds the same tool in it. */
  refresh: () => Promise<CatalogEntry | undefined>;
}

/** The server refused headers that do not match the body: its definition of the tool has changed, nothing was run. */
const HEADER_MISMATCH = -32020;

/** Calls a tool on its server. */
export async function callTool<Structured>(
  call: ToolCall,
  options: CallToolOptions,
  limits: CallLimits,
): Promise<ToolResult<Structured>> {
  try {
    return await send<Structured>(call, options, limits);
  } catch (cause) {
    // An abort is the caller's own: its reason passes through as it is.
    if (options.signal?.aborted) throw cause;
    const { server, sourceName } = call.entry.info;
    const error = toToolportError(cause, { server, tool: sourceName });
    const stale = error instanceof ToolCallError && error.rpcCode === HEADER_MISMATCH;
    const entry = stale ? await call.refresh() : undefined;
    if (entry === undefined) throw error;
    return send<Structured>({ ...call, entry }, options, limits);
  }
}

async function send<Structured>(
  { entry, connection, args }: ToolCall,
  options: CallToolOptions,
  limits: CallLimits,
): Promise<ToolResult<Structured>> {
  const { source, info } = entry;
  const timeoutMs = options.timeoutMs ?? connection.config.timeoutMs ?? limits.timeoutMs;
  // An explicit limit that is longer than the cap raises the cap for this call.
  const maxTimeoutMs = Math.max(limits.maxTimeoutMs, options.timeoutMs ?? 0);
  const params = {
    name: source.sourceName,
    arguments: args,
    ...(options.meta !== undefined && { _meta: options.meta }),
  };
  const raw = await runOnSession(
    connection,
    (session) =>
      session.request("tools/call", params, {
        timeoutMs,
        maxTimeoutMs,
        signal: options.signal,
        headers: paramHeaders(source.paramHeaders, args),
        // Always asked for: without it a server that works for long looks silent.
        onProgress: (progress) => notify(options.onProgress, progress, limits.report),
      }),
    { repeatable: options.idempotent === true, waitMs: timeoutMs, signal: options.signal },
  );
  return toToolResult<Structured>(raw, info.server);
}

function notify(
  listener: CallToolOptions["onProgress"],
  progress: Progress,
  report: (error: unknown) => void,
): void {
  try {
    listener?.(progress);
  } catch (error) {
    report(error);
  }
}
