/** The states of a connection, and the transitions between them. */
import { AuthError } from "../errors/auth-error.js";
import type { ToolportError } from "../errors/toolport-error.js";
import type { Session } from "../protocol/session.js";

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
