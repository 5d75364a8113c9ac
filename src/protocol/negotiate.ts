/**
 * Negotiates the era of a server over the open connection.
 *
 * The client sends `server/discover` first. If a process does not respond within two seconds, the client sends `initialize` as
 * well, and the first successful response decides: a slow modern server is not taken for a legacy one, and a legacy server that
 * ignores unknown methods costs two seconds, not a whole timeout. Over HTTP a missing response means an outage, and an error
 * status counts like an error response.
 */

import type { ToolportError } from "../errors/toolport-error.js";
import { ConnectionError, ToolCallError } from "../errors/toolport-error.js";
import {
  type ClientIdentity,
  createEnvelope,
  isModernVersion,
  LEGACY_VERSIONS,
  MODERN_VERSIONS,
  TASKS_VERSION,
  withoutTasks,
} from "./era.js";
import type { RequestChannel } from "./request-channel.js";

const SILENCE_MS = 2_000;
const UNSUPPORTED_VERSION = -32022;

export type Verdict =
  | { readonly era: "modern"; readonly discover: Record<string, unknown> }
  /** `isCertain` is false if the era was only inferred from a missing response: it is not remembered. */
  | { readonly era: "legacy"; readonly initializeResult: unknown; readonly isCertain: boolean };

export interface NegotiationOptions {
  server: string;
  identity: ClientIdentity;
  /** Revision offered in `initialize`. @default the newest legacy one */
  legacyVersion?: string | undefined;
  /** Total timeout of all requests. */
  readonly timeoutMs: number;
  /** How long to wait for a response before `initialize` is sent as well. `Infinity`: never send it. @default 2000 */
  silenceMs?: number | undefined;
  signal?: AbortSignal | undefined;
  /** Whether `initialize` may be sent at all. @default true */
  isLegacyAllowed?: boolean | undefined;
}

type Discovery =
  | { modern: Record<string, unknown> }
  | { modern: undefined; error: ToolportError | undefined };

const supports = (list: unknown): boolean =>
  Array.isArray(list) && MODERN_VERSIONS.some((v) => list.includes(v));

/** The server supports only modern revisions that are unknown here: `initialize` would fail as well. */
const supportsOtherModern = (list: unknown): boolean =>
  Array.isArray(list) && list.some((version) => typeof version === "string" && isModernVersion(version));

/** Over HTTP, legacy servers reject unknown methods with a status. 401, 403 and 5xx say nothing about the era. */
function isUnsupportedByStatus(error: unknown): error is ConnectionError {
  if (!(error instanceof ConnectionError)) return false;
  const { code, status = 0 } = error;
  // A browser may block the headers of modern requests (CORS) without naming the reason.
  const { window, document } = globalThis as { window?: unknown; document?: unknown };
  if (code === "UNREACHABLE") return window !== undefined && document !== undefined;
  return code === "HTTP_STATUS" && status >= 400 && status < 500 && ![401, 403, 408, 429].includes(status);
}

/** Sends `server/discover`; once more if the error names a revision that both sides support (-32022). */
async function discover(
  channel: RequestChannel,
  options: NegotiationOptions,
  mayRepeat = true,
): Promise<Discovery> {
  const { server, identity, timeoutMs, signal } = options;
  try {
    const params = { _meta: createEnvelope(MODERN_VERSIONS[0], identity) };
    const result = await channel.request("server/discover", params, {
      timeoutMs,
      maxTimeoutMs: timeoutMs,
      signal,
      quiet: true,
    });
    const modern = result as Record<string, unknown> | null;
    return supports(modern?.["supportedVersions"])
      ? { modern: modern! }
      : { modern: undefined, error: undefined };
  } catch (error) {
    if (isUnsupportedByStatus(error)) return { modern: undefined, error };
    if (!(error instanceof ToolCallError) || error.code !== "PROTOCOL") throw error;
    const supported = (error.data as { supported?: unknown } | undefined)?.supported;
    if (error.rpcCode === UNSUPPORTED_VERSION && supports(supported)) {
      // A server that rejects a revision it claims to support may still accept `initialize`.
      return mayRepeat ? discover(channel, options, false) : { modern: undefined, error };
    }
    if (error.rpcCode === UNSUPPORTED_VERSION && supportsOtherModern(supported))
      throw failed(
        server,
        `The server supports ${JSON.stringify(supported)}, and Toolport supports none of these revisions`,
        "Update Toolport, or the server",
        error,
      );
    return { modern: undefined, error };
  }
}

export function initialize(channel: RequestChannel, options: NegotiationOptions): Promise<unknown> {
  const { identity, legacyVersion = LEGACY_VERSIONS[0], timeoutMs, signal } = options;
  const params = {
    protocolVersion: legacyVersion,
    capabilities:
      legacyVersion === TASKS_VERSION ? identity.capabilities : withoutTasks(identity.capabilities),
    clientInfo: identity.clientInfo,
  };
  return channel.request("initialize", params, { timeoutMs, maxTimeoutMs: timeoutMs, signal, quiet: true });
}

/** The channel must be started. */
export async function negotiate(channel: RequestChannel, options: NegotiationOptions): Promise<Verdict> {
  const { server, isLegacyAllowed = true } = options;
  const silenceMs = isLegacyAllowed ? (options.silenceMs ?? SILENCE_MS) : Number.POSITIVE_INFINITY;
  const loser = new AbortController();
  const signal = options.signal ? AbortSignal.any([options.signal, loser.signal]) : loser.signal;
  const endsAt = performance.now() + options.timeoutMs;
  const racing: NegotiationOptions = {
    ...options,
    signal,
    // All requests share one timeout: later ones have less time left.
    get timeoutMs() {
      return Math.max(1, endsAt - performance.now());
    },
  };
  const discovering = discover(channel, racing);
  let isRace = false;
  let silent: ReturnType<typeof setTimeout> | undefined;
  const silence = new Promise<"silent">((resolve) => {
    if (silenceMs !== Number.POSITIVE_INFINITY) silent = setTimeout(resolve, silenceMs, "silent");
  });
  try {
    const first = await Promise.race([discovering, silence]);
    if (first !== "silent") {
      if (first.modern !== undefined) return { era: "modern", discover: first.modern };
      if (!isLegacyAllowed) throw notModern(server, MODERN_VERSIONS, first.error);
      return { era: "legacy", initializeResult: await initialize(channel, racing), isCertain: true };
    }
    isRace = true;
    return await firstSuccess(discovering, initialize(channel, racing), server);
  } finally {
    clearTimeout(silent);
    discovering.catch(() => {});
    // Only a race leaves an open request. Skip the abort otherwise: creating its error with a stack is expensive.
    if (isRace) loser.abort();
  }
}

async function firstSuccess(
  discovering: Promise<Discovery>,
  initializing: Promise<unknown>,
  server: string,
): Promise<Verdict> {
  const modern = discovering.then((found): Verdict => {
    if (found.modern === undefined) throw found.error ?? noResponse(server);
    return { era: "modern", discover: found.modern };
  });
  // A late error response to `server/discover` proves the era like an immediate one.
  let isRejected = false;
  modern.catch((error: unknown) => {
    isRejected = error instanceof ToolCallError && error.code === "PROTOCOL";
  });
  const legacy = initializing.then(
    (result): Verdict => ({ era: "legacy", initializeResult: result, isCertain: isRejected }),
  );
  try {
    return await Promise.any([modern, legacy]);
  } catch {
    // Both failed: throw the error of `initialize`, which is the more helpful one.
    await legacy;
    throw noResponse(server);
  }
}

export function notModern(server: string, wanted: readonly string[], cause?: ToolportError): ConnectionError {
  const what = `The server does not support ${wanted.join(" or ")}`;
  return failed(server, what, 'Remove `protocol`, or set it to "auto"', cause);
}

export const failed = (server: string, what: string, next: string, cause?: unknown): ConnectionError =>
  new ConnectionError({ code: "HANDSHAKE_FAILED", server, what, next, cause });

function noResponse(server: string): ConnectionError {
  return new ConnectionError({
    code: "HANDSHAKE_FAILED",
    server,
    what: "The server responded neither to server/discover nor to initialize",
    next: "Check that the command starts an MCP server",
    retryable: true,
    outcome: "unsent",
  });
}
