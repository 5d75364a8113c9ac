/** What the parts of one MCP endpoint share. */
import type { HeaderSource } from "../../config/server-config.js";
import type { ConnectionError } from "../../errors/connection-error.js";
import type { AuthorizedSend } from "./authorized-send.js";
import type { Discard } from "./event-body.js";
import type { RequestLedger } from "./request-ledger.js";
import type { WireClient } from "./wire.js";

export interface EndpointContext {
  readonly url: URL;
  readonly headers: HeaderSource;
  readonly maxMessageBytes: number;
  readonly open: WireClient["open"];
  /** For every URL that is not the endpoint. */
  readonly guarded: typeof globalThis.fetch;
  /** Renews what the server refuses, once for all requests it refuses at the same time. */
  readonly withAuthorization: AuthorizedSend;
  readonly ledger: RequestLedger;
  readonly onDiscard: Discard;
  readonly onSessionLost: (error: ConnectionError) => void;
}

/** Bodies of refusals: longer ones are shortened, slower ones not waited for. */
export const REFUSAL_LIMITS = { maxBytes: 256 * 1024, timeoutMs: 5_000 } as const;
