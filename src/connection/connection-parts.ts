/** What a connection is given from outside: the network, the memory, the eyes and ears of the port. */

import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import type { ServerConfig } from "../config/server-config.js";
import type { ToolportError } from "../errors/toolport-error.js";
import type { LogLevel } from "../model/log-levels.js";
import type { InvalidMessageSource } from "../protocol/channel-errors.js";
import type { ClientIdentity, Era } from "../protocol/era.js";
import type { EraMemory } from "../protocol/era-memory.js";
import type { ServerRequests } from "../protocol/server-requests/server-requests.js";
import type { Session } from "../protocol/session.js";
import type { SchemaValidator } from "../schema/create-validator.js";
import type { TransportContext } from "../transports/server-transport.js";
import type { StateChange } from "./connection-state.js";

/** How long a caller is willing to wait. */
export interface WaitOptions {
  signal?: AbortSignal | undefined;
  timeoutMs?: number | undefined;
}

export interface ConnectionParts {
  readonly identity: ClientIdentity;
  /** Serves what servers ask of the client. */
  readonly serverRequests?: ServerRequests | undefined;
  readonly validator?: SchemaValidator | undefined;
  readonly eras: EraMemory;
  /** Which log messages to ask a server for. @default none */
  readonly logLevelOf?: ((config: ServerConfig, era: Era) => LogLevel | undefined) | undefined;
  /** Limit of one attempt to connect. */
  readonly connectTimeoutMs: number;
  /** How long a server behind a pipe may be silent before it is sent `initialize` too. */
  readonly silenceMs?: number | undefined;
  /** How long a server may take to answer a ping. @default 10000 */
  readonly pingLimitMs?: number | undefined;
  transportContext(config: ServerConfig): Promise<TransportContext>;
  /** Somebody has authorized since the server last refused us. @default never */
  readonly hasNewCredentials?: ((server: string) => Promise<boolean>) | undefined;
  /** Reads the server's lists; a connection is ready only after it. */
  discover(session: Session, signal: AbortSignal): Promise<void>;
  onState(change: StateChange): void;
  /** A server sends what is no message; the connection goes on. */
  onInvalidMessage?:
    | ((server: string, error: ToolportError, source: InvalidMessageSource) => void)
    | undefined;
  /** A server did not answer a ping, and its session is replaced. */
  onSilent?: ((server: string, error: ToolportError) => void) | undefined;
  /** A session is over; `ms` is how long it lasted. */
  onSessionEnded?: ((session: Session, ms: number, error: ToolportError | undefined) => void) | undefined;
  /** A server told something by itself, progress of requests apart. */
  onNotification?(server: string, method: string, params: Readonly<Record<string, unknown>>): void;
  /** A function that sees every message of this server, if somebody wants to. */
  tap(config: ServerConfig): ((direction: "sent" | "received", message: JSONRPCMessage) => void) | undefined;
}
