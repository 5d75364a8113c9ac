/** Subscribes to changes of one resource. */
import type { ServerCapabilities } from "@modelcontextprotocol/client";
import { CatalogError } from "../errors/catalog-error.js";
import { toToolportError } from "../errors/to-toolport-error.js";
import { ToolCallError } from "../errors/tool-call-error.js";
import { withDeadline } from "../util/with-deadline.js";
import type { ChangeWatch } from "./change-watch.js";
import type { Era } from "./era.js";
import type { ChannelRequestOptions } from "./request-channel.js";

const UNSUBSCRIBE_MS = 5_000;

/** The part of `Session` that a subscription to a resource needs. */
interface ResourceSession {
  readonly server: string;
  readonly era: Era;
  readonly capabilities: ServerCapabilities;
  request(method: string, params: Record<string, unknown>, options: ChannelRequestOptions): Promise<unknown>;
}

interface WatchResourceParts {
  readonly session: ResourceSession;
  /** Legacy servers: opens the stream for notifications, unless it is open. */
  readonly openStream: () => void;
  readonly watch: ChangeWatch;
  readonly uri: string;
  /** Called when changes may have been missed: the stream of changes was interrupted. */
  readonly onGap: () => void;
  readonly limits: ChannelRequestOptions;
}

/** Subscribes to one resource. Resolves with a function that unsubscribes and never rejects. */
export async function watchResource(parts: WatchResourceParts): Promise<() => Promise<void>> {
  const { session, openStream, watch, uri, onGap, limits } = parts;
  if (session.capabilities.resources?.subscribe !== true) throw notOffered(session.server);
  if (session.era === "modern") return subscribeModern(parts);
  openStream();
  // The server may accept before its stream is open, and answer later.
  const off = watch.onStreamOpen(onGap);
  await session.request("resources/subscribe", { uri }, limits).catch((error: unknown) => {
    off();
    throw error;
  });
  return async () => {
    off();
    const options = { timeoutMs: UNSUBSCRIBE_MS, maxTimeoutMs: UNSUBSCRIBE_MS };
    // Ignore failures: a closed connection has no subscriptions.
    await session.request("resources/unsubscribe", { uri }, options).catch(() => {});
  };
}

async function subscribeModern({
  session,
  watch,
  uri,
  onGap,
  limits,
}: WatchResourceParts): Promise<() => Promise<void>> {
  const { server } = session;
  const granting = watch.addResource(uri, onGap);
  granting.catch(() => {});
  try {
    const granted = await withDeadline(granting, {
      signal: limits.signal,
      timeoutMs: Math.min(limits.timeoutMs, limits.maxTimeoutMs),
      onTimeout: () => notGranted(server, limits.timeoutMs, watch.lastError()),
    });
    if (!granted) throw notOffered(server);
  } catch (error) {
    watch.removeResource(uri);
    throw limits.signal?.aborted ? error : toToolportError(error, { server });
  }
  return async () => watch.removeResource(uri);
}

function notOffered(server: string): CatalogError {
  return new CatalogError({
    code: "NOT_OFFERED",
    server,
    what: "The server does not offer a subscription to this resource",
    next: "Poll the resource instead",
  });
}

function notGranted(server: string, timeoutMs: number, cause: unknown): ToolCallError {
  return new ToolCallError({
    code: "TIMEOUT",
    server,
    phase: "subscribe",
    what: `The subscription was not granted within ${timeoutMs} ms`,
    next: "Raise timeoutMs, or check the server",
    retryable: true,
    cause,
  });
}
