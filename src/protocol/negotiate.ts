/**
 * Which era does this server speak? Asked in place, over the one connection we have.
 *
 * `server/discover` goes out first. A process that stays silent is sent `initialize` as well, and the first good answer
 * counts: a slow modern server is not taken for a legacy one, and a legacy one that ignores what it does not know
 * costs two seconds, not sixty. Over HTTP silence is an outage, and a refusal by status is as good as one by message.
 */
import { ConnectionError } from "../errors/connection-error.js";
import { ToolCallError } from "../errors/tool-call-error.js";
import type { ToolportError } from "../errors/toolport-error.js";
import {
  type ClientIdentity,
  createEnvelope,
  isModernVersion,
  LEGACY_VERSIONS,
  MODERN_VERSIONS,
} from "./era.js";
import type { Lane } from "./request-channel.js";

const SILENCE_MS = 2_000;
const UNSUPPORTED_VERSION = -32022;

export type Verdict =
  | { readonly era: "modern"; readonly discover: Record<string, unknown> }
  /** `sure` is false when the verdict rests on silence only: such a verdict is not remembered. */
  | { readonly era: "legacy"; readonly initializeResult: unknown; readonly sure: boolean };

export interface NegotiationOptions {
  server: string;
  identity: ClientIdentity;
  /** Revision offered in `initialize`. @default the newest legacy one */
  legacyVersion?: string | undefined;
  /** For all requests together. */
  readonly timeoutMs: number;
  /** How long it may be silent before it is also sent `initialize`. `Infinity`: for ever. @default 2000 */
  silenceMs?: number | undefined;
  signal?: AbortSignal | undefined;
  /** Whether `initialize` may be tried at all. @default true */
  isLegacyAllowed?: boolean | undefined;
}

type Discovery =
  | { modern: Record<string, unknown> }
  | { modern: undefined; error: ToolportError | undefined };

const supports = (list: unknown): boolean =>
  Array.isArray(list) && MODERN_VERSIONS.some((v) => list.includes(v));

const isRevision = (version: unknown): version is string => typeof version === "string";

/** It speaks a modern revision, and none that we do: `initialize` would be no answer to that. */
function speaksAnother(supported: unknown): boolean {
  return (
    Array.isArray(supported) && supported.some((version) => isRevision(version) && isModernVersion(version))
  );
}

/** Over HTTP, servers before 2026-07-28 refuse what they do not know by status. 401, 403 and 5xx say nothing about an era. */
function isRefusalByStatus(error: unknown): error is ConnectionError {
  if (!(error instanceof ConnectionError)) return false;
  const { code, status = 0 } = error;
  if (code === "UNREACHABLE") return isInBrowser();
  return code === "HTTP_STATUS" && status >= 400 && status < 500 && ![401, 403, 408, 429].includes(status);
}

/** There, headers of the modern era may be refused by the browser itself, and nobody is told why. */
function isInBrowser(): boolean {
  const { window, document } = globalThis as { window?: unknown; document?: unknown };
  return window !== undefined && document !== undefined;
}

/** Sends `server/discover`; once more if the server names a revision both sides know (-32022). */
async function discover(lane: Lane, options: NegotiationOptions, again = true): Promise<Discovery> {
  const { server, identity, timeoutMs, signal } = options;
  try {
    const params = { _meta: createEnvelope(MODERN_VERSIONS[0], identity) };
    const result = await lane.request("server/discover", params, {
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
    if (isRefusalByStatus(error)) return { modern: undefined, error };
    if (!(error instanceof ToolCallError) || error.code !== "PROTOCOL") throw error;
    const supported = (error.data as { supported?: unknown } | undefined)?.supported;
    if (error.rpcCode === UNSUPPORTED_VERSION && supports(supported)) {
      // One that refuses what it says it supports may still know `initialize`.
      return again ? discover(lane, options, false) : { modern: undefined, error };
    }
    if (error.rpcCode === UNSUPPORTED_VERSION && speaksAnother(supported))
      throw noCommonVersion(server, supported, error);
    return { modern: undefined, error };
  }
}

/** Sends `initialize`. */
export function initialize(lane: Lane, options: NegotiationOptions): Promise<unknown> {
  const { identity, legacyVersion = LEGACY_VERSIONS[0], timeoutMs, signal } = options;
  const params = {
    protocolVersion: legacyVersion,
    capabilities: identity.capabilities,
    clientInfo: identity.clientInfo,
  };
  return lane.request("initialize", params, { timeoutMs, maxTimeoutMs: timeoutMs, signal, quiet: true });
}

/** Finds out the era of a server. The lane must be started. */
export async function negotiate(lane: Lane, options: NegotiationOptions): Promise<Verdict> {
  const { server, isLegacyAllowed = true } = options;
  const silenceMs = isLegacyAllowed ? (options.silenceMs ?? SILENCE_MS) : Number.POSITIVE_INFINITY;
  const loser = new AbortController();
  const signal = options.signal ? AbortSignal.any([options.signal, loser.signal]) : loser.signal;
  const endsAt = performance.now() + options.timeoutMs;
  const racing: NegotiationOptions = {
    ...options,
    signal,
    // All requests share one limit: what is sent later has less time.
    get timeoutMs() {
      return Math.max(1, endsAt - performance.now());
    },
  };
  const discovering = discover(lane, racing);
  let isRace = false;
  let silent: ReturnType<typeof setTimeout> | undefined;
  const silence = new Promise<"silent">((resolve) => {
    if (silenceMs !== Number.POSITIVE_INFINITY) silent = setTimeout(resolve, silenceMs, "silent");
  });
  try {
    const first = await Promise.race([discovering, silence]);
    if (first !== "silent") {
      if (first.modern !== undefined) return { era: "modern", discover: first.modern };
      if (!isLegacyAllowed) throw notModern(server, first.error);
      return { era: "legacy", initializeResult: await initialize(lane, racing), sure: true };
    }
    isRace = true;
    return await firstGoodAnswer(discovering, initialize(lane, racing), server);
  } finally {
    clearTimeout(silent);
    discovering.catch(() => {});
    // Only a race leaves a loser under way; an abort makes an error with its stack, and most servers answer at once.
    if (isRace) loser.abort();
  }
}

async function firstGoodAnswer(
  discovering: Promise<Discovery>,
  initializing: Promise<unknown>,
  server: string,
): Promise<Verdict> {
  const modern = discovering.then((found): Verdict => {
    if (found.modern === undefined) throw found.error ?? noAnswer(server);
    return { era: "modern", discover: found.modern };
  });
  // A refusal of the probe that comes late is as sure a sign as one that came at once.
  let refused = false;
  modern.catch((error: unknown) => {
    refused = error instanceof ToolCallError && error.code === "PROTOCOL";
  });
  const legacy = initializing.then(
    (result): Verdict => ({ era: "legacy", initializeResult: result, sure: refused }),
  );
  try {
    return await Promise.any([modern, legacy]);
  } catch {
    // Both failed; what `initialize` said is what the user can act on.
    await legacy;
    throw noAnswer(server);
  }
}

function notModern(server: string, cause: ToolportError | undefined): ConnectionError {
  return new ConnectionError({
    code: "HANDSHAKE_FAILED",
    server,
    what: `The server does not speak ${MODERN_VERSIONS.join(" or ")}`,
    next: 'Remove `protocol`, or set it to "auto"',
    cause,
  });
}

function noCommonVersion(server: string, supported: unknown, cause: unknown): ConnectionError {
  return new ConnectionError({
    code: "HANDSHAKE_FAILED",
    server,
    what: `The server speaks ${JSON.stringify(supported)}, and none of these revisions is known here`,
    next: "Update Toolport, or the server",
    cause,
  });
}

function noAnswer(server: string): ConnectionError {
  return new ConnectionError({
    code: "HANDSHAKE_FAILED",
    server,
    what: "The server answered neither server/discover nor initialize",
    next: "Check that the command starts an MCP server",
    retryable: true,
    outcome: "unsent",
  });
}
