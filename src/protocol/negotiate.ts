/**
 * Which era does this process speak? Asked in place, over the one process we have.
 *
 * `server/discover` goes out first. A server that stays silent is sent `initialize` as well, and the first good answer
 * counts: a slow modern server is not taken for a legacy one, and a legacy one that ignores what it does not know
 * costs two seconds, not sixty. Over HTTP the SDK's own probe does this well; pipes and sockets come here.
 */
import { ConnectionError } from "../errors/connection-error.js";
import { ToolCallError } from "../errors/tool-call-error.js";
import { type ClientIdentity, createEnvelope, MODERN_VERSIONS, NEWEST_LEGACY_VERSION } from "./era.js";
import type { Lane } from "./lane.js";

/** How long a server may be silent before it is also sent `initialize`. */
const SILENCE_MS = 2_000;

export type Verdict =
  | { readonly era: "modern"; readonly discover: Record<string, unknown> }
  /** `sure` is false when the verdict rests on silence only: such a verdict is not remembered. */
  | { readonly era: "legacy"; readonly initializeResult: unknown; readonly sure: boolean };

export interface NegotiationOptions {
  server: string;
  identity: ClientIdentity;
  /** Revision offered in `initialize`. @default the newest legacy one */
  legacyVersion?: string | undefined;
  timeoutMs: number;
  silenceMs?: number | undefined;
  signal?: AbortSignal | undefined;
}

type Discovery =
  | { modern: Record<string, unknown> }
  | { modern: undefined; error: ToolCallError | undefined };

const supports = (list: unknown): boolean =>
  Array.isArray(list) && MODERN_VERSIONS.some((v) => list.includes(v));

/** Sends `server/discover`; once more if the server names a revision both sides know (-32022). */
async function discover(
  lane: Lane,
  { identity, timeoutMs, signal }: NegotiationOptions,
  again = true,
): Promise<Discovery> {
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
    if (!(error instanceof ToolCallError) || error.code !== "PROTOCOL") throw error;
    const supported = (error.data as { supported?: unknown } | undefined)?.supported;
    if (again && error.rpcCode === -32022 && supports(supported)) {
      return discover(lane, { server: "", identity, timeoutMs, signal }, false);
    }
    return { modern: undefined, error };
  }
}

/** Sends `initialize`. */
function initialize(lane: Lane, options: NegotiationOptions): Promise<unknown> {
  const { identity, legacyVersion = NEWEST_LEGACY_VERSION, timeoutMs, signal } = options;
  const params = {
    protocolVersion: legacyVersion,
    capabilities: identity.capabilities,
    clientInfo: identity.clientInfo,
  };
  return lane.request("initialize", params, { timeoutMs, maxTimeoutMs: timeoutMs, signal, quiet: true });
}

/** Finds out the era of a server behind a pipe or a socket. The lane must be started. */
export async function negotiate(lane: Lane, options: NegotiationOptions): Promise<Verdict> {
  const { server, silenceMs = SILENCE_MS } = options;
  const loser = new AbortController();
  const signal = options.signal ? AbortSignal.any([options.signal, loser.signal]) : loser.signal;
  const racing = { ...options, signal };
  const discovering = discover(lane, racing);
  let silent: ReturnType<typeof setTimeout> | undefined;
  const silence = new Promise<"silent">((resolve) => {
    silent = setTimeout(resolve, silenceMs, "silent");
  });
  try {
    const first = await Promise.race([discovering, silence]);
    if (first !== "silent") {
      if (first.modern !== undefined) return { era: "modern", discover: first.modern };
      return { era: "legacy", initializeResult: await initialize(lane, racing), sure: true };
    }
    return await firstGoodAnswer(discovering, initialize(lane, racing), server);
  } finally {
    clearTimeout(silent);
    discovering.catch(() => {});
    loser.abort();
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
