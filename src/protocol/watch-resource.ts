/** Subscribes to one resource in the way of the session's era. */
import { CatalogError } from "../errors/catalog-error.js";
import { toToolportError } from "../errors/to-toolport-error.js";
import { ToolCallError } from "../errors/tool-call-error.js";
import { withDeadline } from "../util/with-deadline.js";
import type { LaneRequestOptions } from "./lane.js";
import type { ListWatch } from "./list-watch.js";
import type { Session } from "./session.js";

const UNSUBSCRIBE_MS = 5_000;

export interface WatchResourceParts {
  readonly session: Pick<Session, "server" | "era" | "capabilities" | "request">;
  readonly watch: ListWatch;
  readonly uri: string;
  /** Changes may have been missed although the session lives: the modern era's stream was cut and opened again. */
  readonly onGap: () => void;
  readonly limits: LaneRequestOptions;
}

/** Resolves when the server has agreed; with what ends the subscription again, and never rejects. */
export async function watchResource(parts: WatchResourceParts): Promise<() => Promise<void>> {
  const { session, uri, limits } = parts;
  if (session.capabilities.resources?.subscribe !== true) throw notOffered(session.server);
  if (session.era === "modern") return listenTo(parts);
  await session.request("resources/subscribe", { uri }, limits);
  return async () => {
    const options = { timeoutMs: UNSUBSCRIBE_MS, maxTimeoutMs: UNSUBSCRIBE_MS };
    // A connection that is gone has no subscriptions, and a server that refuses to end one is told nothing new by us.
    await session.request("resources/unsubscribe", { uri }, options).catch(() => {});
  };
}

async function listenTo({
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
      onTimeout: () => notAnswered(server, limits.timeoutMs, watch.lastError()),
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
    what: "The server offers no subscriptions to this resource",
    next: "Read the resource again now and then",
  });
}

function notAnswered(server: string, timeoutMs: number, cause: unknown): ToolCallError {
  return new ToolCallError({
    code: "TIMEOUT",
    server,
    phase: "subscribe",
    what: `The subscription was not granted within ${timeoutMs} ms`,
    next: "Raise timeoutMs, or look at the server",
    retryable: true,
    cause,
  });
}
