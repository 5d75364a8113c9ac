/** Dependencies of a connection, which the port provides. */

import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import type { ServerConfig } from "../config/server-config.js";
import type { ToolportError } from "../errors/toolport-error.js";
import type { LogLevel } from "../model/log-levels.js";
import type { InvalidMessageSource } from "../protocol/channel-errors.js";
import type { ClientIdentity, Era } from "../protocol/era.js";
import type { EraMemory, RememberedEra } from "../protocol/era-memory.js";
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
  /** Handles the requests of servers. */
  readonly serverRequests?: ServerRequests | undefined;
  readonly validator?: SchemaValidator | undefined;
  readonly eras: Pick<EraMemory, "recall" | "remember" | "forget">;
  /** Minimum level of the log messages that a server should send. @default none */
  readonly logLevelOf?: ((config: ServerConfig, era: Era) => LogLevel | undefined) | undefined;
  /** Time limit of one attempt to connect. */
  readonly connectTimeoutMs: number;
  /** How long a server over stdio may stay silent before the client also sends `initialize`. */
  readonly silenceMs?: number | undefined;
  /** How long a server may take to answer a ping. @default 10000 */
  readonly pingLimitMs?: number | undefined;
  /** Connecting reads no list and does not listen for changes. @default false */
  readonly isLean?: boolean | undefined;
  /** Returns an equal object that other users have as well, so that it is kept once. @default unchanged */
  readonly shareEra?: ((era: RememberedEra) => RememberedEra) | undefined;
  transportContext(config: ServerConfig): Promise<TransportContext>;
  /** True if the user has logged in since the server last rejected the credentials. @default never */
  readonly hasNewCredentials?: ((server: string) => Promise<boolean>) | undefined;
  /** Reads the lists of the server. The connection is ready after that. */
  discover(session: Session, signal: AbortSignal): Promise<void>;
  onState(change: StateChange): void;
  /** The server sent something that is not a valid message. The connection stays open. */
  onInvalidMessage?:
    | ((server: string, error: ToolportError, source: InvalidMessageSource) => void)
    | undefined;
  /** The server did not answer a ping, and its session is replaced. */
  onSilent?: ((server: string, error: ToolportError) => void) | undefined;
  /** A session ended after `ms` milliseconds. */
  onSessionEnded?: ((session: Session, ms: number, error: ToolportError | undefined) => void) | undefined;
  /** The server sent a notification other than progress. */
  onNotification?(server: string, method: string, params: Readonly<Record<string, unknown>>): void;
  /** Returns a function that receives every message of this server, or undefined. */
  tap(config: ServerConfig): ((direction: "sent" | "received", message: JSONRPCMessage) => void) | undefined;
  /** Returns a function that returns a further tap while something observes the port. */
  liveTap?(config: ServerConfig): () => ReturnType<ConnectionParts["tap"]>;
}
