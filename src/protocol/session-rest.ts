/** What a session needs to rest: its connection closes while the session stays open at the server. */
import type { TransportKind } from "../config/server-config.js";
import type { Era } from "./era.js";
import type { ResumableSession } from "./era-memory.js";

export interface SessionRest {
  /** Makes `close()` leave the session open at the server. False if a later connection could not go on with it. */
  keepAtServer(): boolean;
  /** Legacy servers: what a later connection needs to go on with this session. */
  readonly resume: ResumableSession | undefined;
}

interface RestParts {
  readonly era: Era;
  readonly transport: TransportKind;
  readonly result: Readonly<Record<string, unknown>>;
  /** The server may send requests, and expects an open stream for them. */
  readonly tracksCalls: boolean;
  readonly channel: { readonly sessionId: string | undefined };
}

/** @returns the methods, and whether the session stays open at the server */
export function createRest({ era, transport, result, tracksCalls, channel }: RestParts) {
  let isKept = false;
  return {
    isKept: () => isKept,
    keepAtServer() {
      // Only HTTP needs no open connection for a session.
      isKept = transport === "http" && (era === "modern" || !tracksCalls);
      return isKept;
    },
    resume: () => (era === "legacy" ? { sessionId: channel.sessionId, result } : undefined),
  };
}
