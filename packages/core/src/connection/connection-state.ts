/** The states of a connection, and the transitions between them. */

import {
  AuthError,
  ConfigError,
  ConnectionError,
  type LogLevel,
  ToolCallError,
  type ToolportError,
} from "@toolport/base";
import type { MessageTap, ServerConfig } from "../config/server-config.js";
import type { Era, EraMemory, RememberedEra } from "../protocol/era.js";
import { slowStart } from "../protocol/handshake.js";
import type { OpenOptions } from "../protocol/open-session.js";
import type { InvalidMessageSource, LiveTap } from "../protocol/request-channel.js";
import type { Session } from "../protocol/session.js";
import type { TransportContext } from "../transports/server-transport.js";

export type ConnectionState =
  /** Never requested, or no longer. */
  | { readonly status: "idle" }
  /** Opening the transport and negotiating the protocol era. */
  | { readonly status: "connecting"; readonly attempt: number }
  /** The user has to log in first. */
  | { readonly status: "authenticating"; readonly error: ToolportError; readonly authUrl: string | undefined }
  /** The handshake is complete. */
  | { readonly status: "connected"; readonly session: Session }
  /** Reading the lists of the server. */
  | { readonly status: "discovering"; readonly session: Session }
  /** Ready for calls. */
  | { readonly status: "ready"; readonly session: Session; readonly since: number }
  /** The connection was lost; Toolport reconnects. */
  | {
      readonly status: "reconnecting";
      readonly attempt: number;
      /** Time of the next attempt (epoch milliseconds). */
      readonly retryAt: number;
      readonly error: ToolportError;
    }
  /** Toolport has given up. The next call tries once more. */
  | { readonly status: "failed"; readonly error: ToolportError }
  /** Disconnected by the program, by the idle timeout, or by configuration. */
  | { readonly status: "closed"; readonly by: "request" | "idleness" | "configuration" };

export type ReadyState = Extract<ConnectionState, { status: "ready" }>;

export type ConnectionStatus = ConnectionState["status"];

/** A transition, as listeners receive it. */
export interface StateChange {
  readonly server: string;
  readonly from: ConnectionStatus;
  readonly to: ConnectionStatus;
  /** Short description of the cause. */
  readonly reason: string;
  readonly error?: ToolportError | undefined;
  /** The principal that the connection belongs to; undefined outside `as(principal)`. */
  readonly principal?: string | undefined;
}

/** Every allowed transition. Any other is a bug in Toolport. */
export const TRANSITIONS: Readonly<Record<ConnectionStatus, readonly ConnectionStatus[]>> = {
  idle: ["connecting", "closed"],
  connecting: ["connected", "authenticating", "failed", "reconnecting", "idle", "closed"],
  authenticating: ["connecting", "closed"],
  connected: ["discovering", "failed", "reconnecting", "connecting", "authenticating", "idle", "closed"],
  discovering: ["ready", "failed", "reconnecting", "connecting", "authenticating", "idle", "closed"],
  ready: ["reconnecting", "authenticating", "failed", "closed"],
  // The server was only silent, and answers again.
  reconnecting: ["ready", "connecting", "authenticating", "failed", "closed"],
  failed: ["connecting", "closed"],
  closed: ["connecting"],
};

/** The state of a connection that Toolport has given up. */
export const stateAfter = (error: ToolportError): ConnectionState =>
  error instanceof AuthError && error.code === "AUTH_REQUIRED"
    ? { status: "authenticating", error, authUrl: error.authUrl }
    : { status: "failed", error };

/** The last error that the state contains. */
export const errorOf = (state: ConnectionState): ToolportError | undefined =>
  "error" in state ? state.error : undefined;

/** The error of a server that does not reconnect on its own, in a list; an empty list for all others. */
export const failureOf = (state: ConnectionState): ToolportError[] =>
  state.status === "failed" || state.status === "authenticating" ? [state.error] : [];

/** How long a caller is willing to wait. */
export interface WaitOptions {
  signal?: AbortSignal | undefined;
  timeoutMs?: number | undefined;
}

export interface ConnectionParts
  extends Readonly<Pick<OpenOptions, "identity" | "serverRequests" | "validator" | "silenceMs">> {
  readonly eras: Pick<EraMemory, "recall" | "remember" | "forget">;
  /** Minimum level of the log messages that a server should send. @default none */
  readonly logLevelOf?: ((config: ServerConfig, era: Era) => LogLevel | undefined) | undefined;
  /** Time limit of one attempt to connect. */
  readonly connectTimeoutMs: number;
  /** How long a server may take to answer a ping. @default 10000 */
  readonly pingLimitMs?: number | undefined;
  /** False: connecting reads no list and does not listen for changes. @default true */
  readonly listens?: boolean | undefined;
  /** Returns an equal object that other users have as well, so that it is kept once. @default unchanged */
  readonly shareEra?: ((era: RememberedEra) => RememberedEra) | undefined;
  transportContext(config: ServerConfig): Promise<TransportContext>;
  /** True if the user has logged in since the server last rejected the credentials. @default never */
  readonly hasNewCredentials?: ((server: string) => Promise<boolean>) | undefined;
  /** Reads the lists of the server. The connection is ready after that. */
  readLists(session: Session, signal: AbortSignal): Promise<void>;
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
  tap(config: ServerConfig): MessageTap | undefined;
  /** A further tap, for as long as something observes the port. */
  liveTap?(config: ServerConfig): LiveTap;
}

/** The server was disconnected by the program, or is disabled. */
export function serverDown({ name, enabled }: ServerConfig): ConnectionError {
  return new ConnectionError({
    code: "CLOSED",
    server: name,
    what: enabled ? "The server is disconnected" : "The server is disabled in the configuration",
    next: enabled ? `Call connectServer(${JSON.stringify(name)}) first` : "Set enabled to true",
    outcome: "unsent",
  });
}

/** The server was restored from the store without all the fields it needs. */
export function serverBlocked({ name, blocked }: ServerConfig): ConfigError {
  return new ConfigError({
    code: "INVALID_CONFIG",
    server: name,
    what: `The server was restored from the store, but ${blocked}`,
    next: `Add it again: add(${JSON.stringify(name)}, …)`,
    outcome: "unsent",
  });
}

/** The server was lost and is not connected again yet, and the caller does not want to wait. */
export function serverAway(server: string, error: ToolportError | undefined): ConnectionError {
  return new ConnectionError({
    code: "UNREACHABLE",
    server,
    what:
      error === undefined
        ? "The server was lost and is not connected again yet"
        : `The server is unreachable: ${error.what}`,
    retryable: true,
    outcome: "unsent",
    cause: error,
  });
}

/** The server was not ready within the time limit of the caller. */
export function notReady(
  config: ServerConfig,
  {
    timeoutMs = 0,
    status,
    cause,
  }: { timeoutMs: number | undefined; status: string; cause: ToolportError | undefined },
): ToolCallError {
  const why = cause === undefined ? "" : `: ${cause.what}`;
  return new ToolCallError({
    code: "TIMEOUT",
    server: config.name,
    phase: "connect",
    what: `The server was not ready within ${Math.round(timeoutMs)} ms (${status})${why}`,
    next: cause?.next ?? `Raise timeoutMs (--timeout on the command line)${slowStart(config)}`,
    retryable: true,
    outcome: "unsent",
    cause,
  });
}

/** The server closed the connection without an error. */
export function closedByServer(server: string): ConnectionError {
  return new ConnectionError({
    code: "CLOSED",
    server,
    what: "The server closed the connection",
    retryable: true,
  });
}
