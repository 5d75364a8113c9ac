/** One attempt to open a session: tries the remembered era first, reads the lists, and discards a remembered era that is wrong. */

import { ConnectionError, ToolCallError } from "@toolport/base";
import type { MessageTap, ServerConfig } from "../config/server-config.js";
import type { RememberedEra, SsePath } from "../protocol/era.js";
import { type OpenOptions, openSession } from "../protocol/open-session.js";
import type { Session } from "../protocol/session.js";
import type { ConnectionParts } from "./connection-state.js";

interface EstablishOptions {
  config: ServerConfig;
  parts: ConnectionParts;
  lastEra: RememberedEra | undefined;
  signal: AbortSignal;
  /** Whether a server that ended at the probe of its era may be started again within this attempt. */
  mayStartAgain: () => boolean;
  onConnected: (session: Session) => void;
  onDiscarded: (closing: Promise<void>) => void;
}

export interface Established {
  session: Session;
  /** The negotiated era, for the next start of the same server. */
  era: RememberedEra | undefined;
}

/** Opens a session and reads its lists. */
export async function establish(options: EstablishOptions): Promise<Established> {
  const { config, parts, lastEra } = options;
  // A tap needs the handshake as well: without it a recording cannot be replayed.
  const mustNegotiate = config.protocol !== "auto" || config.tap !== undefined;
  const remembered = mustNegotiate ? undefined : (lastEra ?? (await parts.eras.recall(config)));
  if (remembered === undefined || declaresNothing(remembered)) return attempt(options, undefined);
  let isProven = false;
  try {
    return await attempt(options, remembered, () => {
      isProven = true;
    });
  } catch (error) {
    // The server answered in the remembered era, or could not be reached: the remembered era is not the cause.
    if (isProven || options.signal.aborted || isAbsence(error)) throw error;
    if (remembered.era === "legacy" && !isRefusedHandshake(error)) throw error;
    await parts.eras.forget(config);
    return attempt(options, undefined);
  }
}

async function attempt(
  options: EstablishOptions,
  remembered: RememberedEra | undefined,
  onProven?: () => void,
): Promise<Established> {
  const { config, parts, signal } = options;
  const { session, verdict, via } = await openSession({
    config,
    context: await parts.transportContext(config),
    identity: parts.identity,
    serverRequests: parts.serverRequests,
    validator: parts.validator,
    remembered,
    logLevel: (era) => parts.logLevelOf?.(config, era),
    listens: parts.listens,
    timeoutMs: parts.connectTimeoutMs,
    silenceMs: parts.silenceMs,
    signal,
    tap: joinTaps(parts.tap(config), config.tap?.()),
    liveTap: parts.liveTap?.(config),
    onNotification: (method, params) => parts.onNotification?.(config.name, method, params),
    onInvalidMessage: (error, source) => parts.onInvalidMessage?.(config.name, error, source),
    mayStartAgain: options.mayStartAgain,
    onDiscarded: options.onDiscarded,
  }).catch((error: unknown) => {
    throw rpcCodeOf(error) === undefined ? error : rejected(error as ToolCallError);
  });
  const stop = () => options.onDiscarded(session.close());
  signal.addEventListener("abort", stop, { once: true });
  try {
    signal.throwIfAborted();
    options.onConnected(session);
    await parts.readLists(session, signal);
    // The server used to have lists and now has none: it has changed, so its era is negotiated again.
    if (session.unproven && parts.listens !== false)
      throw new ConnectionError({
        code: "HANDSHAKE_FAILED",
        server: config.name,
        what: "The server has none of the lists that it is remembered for",
      });
    if (config.protocol === "auto" && remembered === undefined && verdict !== undefined) {
      await parts.eras.remember(config, verdict);
    }
    return { session, era: asMemory(session, via) };
  } catch (error) {
    if (!session.unproven) onProven?.();
    stop();
    throw error;
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

/** Calls the tap of the port first, then that of the entry. */
function joinTaps(first: OpenOptions["tap"], second: MessageTap | undefined): OpenOptions["tap"] {
  if (second === undefined) return first;
  return (direction, message) => {
    first?.(direction, message);
    second(direction, message);
  };
}

/** The era of such a server is negotiated every time; otherwise an upgrade would go unnoticed. */
function declaresNothing(remembered: RememberedEra): boolean {
  if (remembered.era === "legacy") return false;
  const capabilities = remembered.discover["capabilities"] as Record<string, unknown> | null | undefined;
  return !["tools", "resources", "prompts"].some((list) => capabilities?.[list] !== undefined);
}

const rpcCodeOf = (error: unknown): number | undefined =>
  error instanceof ToolCallError ? error.rpcCode : undefined;

/** The server answered the handshake with a JSON-RPC error. */
const rejected = (cause: ToolCallError): ConnectionError => {
  const { server, what, retryable } = cause;
  return new ConnectionError({ code: "HANDSHAKE_FAILED", server, what, retryable, outcome: "unsent", cause });
};

/** Error codes and statuses of an upgraded server that no longer supports `initialize`, only the modern era. */
function isRefusedHandshake(error: unknown): boolean {
  if (!(error instanceof ConnectionError)) return false;
  const { cause, status = 0 } = error;
  return [-32601, -32022].includes(rpcCodeOf(cause) ?? 0) || [400, 404, 405].includes(status);
}

/** The server could not be reached, which says nothing about its era. */
function isAbsence(error: unknown): boolean {
  if (error instanceof ToolCallError) return error.code === "TIMEOUT" && error.phase === "connect";
  if (!(error instanceof ConnectionError)) return false;
  return (
    ["UNREACHABLE", "SPAWN_FAILED", "CONNECT_TIMEOUT"].includes(error.code) || (error.status ?? 0) >= 429
  );
}

function asMemory(session: Session, via: SsePath | undefined): RememberedEra | undefined {
  if (session.era === "legacy") return { era: "legacy", at: Date.now(), ...(via && { via }) };
  return session.discover && { era: "modern", discover: session.discover };
}
