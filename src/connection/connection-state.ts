/** Where a connection stands: one of nine states, each with just what is known in it. */
import type { ToolportError } from "../errors/toolport-error.js";
import type { Session } from "../protocol/session.js";

export type ConnectionState =
  /** Known, but not asked for, or not any more. */
  | { readonly status: "idle" }
  /** The transport is being opened and the era found out. */
  | { readonly status: "connecting"; readonly attempt: number }
  /** Somebody has to authorize first. */
  | { readonly status: "authenticating"; readonly error: ToolportError; readonly authUrl: string | undefined }
  /** The handshake is done. */
  | { readonly status: "connected"; readonly session: Session }
  /** The server's lists are being read. */
  | { readonly status: "discovering"; readonly session: Session }
  /** Calls can be made. */
  | { readonly status: "ready"; readonly session: Session; readonly since: number }
  /** It was lost and is being brought back. */
  | {
      readonly status: "reconnecting";
      readonly attempt: number;
      /** When the next attempt is made (epoch milliseconds). */
      readonly retryAt: number;
      readonly error: ToolportError;
    }
  /** Given up, until somebody asks again. */
  | { readonly status: "failed"; readonly error: ToolportError }
  /** Put down on purpose. */
  | { readonly status: "closed"; readonly by: "request" | "idleness" | "configuration" };

export type ReadyState = Extract<ConnectionState, { status: "ready" }>;

export type ConnectionStatus = ConnectionState["status"];

/** A move from one state to the next, as listeners see it. */
export interface StateChange {
  readonly server: string;
  readonly from: ConnectionStatus;
  readonly to: ConnectionStatus;
  /** Why, in a few words. */
  readonly reason: string;
  readonly error?: ToolportError | undefined;
  /** Whose connection it is; undefined outside `as(principal)`. */
  readonly principal?: string | undefined;
}

/** Every move that is allowed. Anything else is a bug of ours. */
export const TRANSITIONS: Readonly<Record<ConnectionStatus, readonly ConnectionStatus[]>> = {
  idle: ["connecting", "closed"],
  connecting: ["connected", "authenticating", "failed", "reconnecting", "idle", "closed"],
  authenticating: ["connecting", "closed"],
  connected: ["discovering", "failed", "reconnecting", "connecting", "authenticating", "idle", "closed"],
  discovering: ["ready", "failed", "reconnecting", "connecting", "authenticating", "idle", "closed"],
  ready: ["reconnecting", "authenticating", "failed", "closed"],
  // Straight to ready: it was only silent, and answers again.
  reconnecting: ["ready", "connecting", "authenticating", "failed", "closed"],
  failed: ["connecting", "closed"],
  closed: ["connecting"],
};

/** What the state knows about the last failure. */
export const errorOf = (state: ConnectionState): ToolportError | undefined =>
  "error" in state ? state.error : undefined;

/** Why a server is not there and does not come back by itself: nothing, or one error. */
export const failureOf = (state: ConnectionState): ToolportError[] =>
  state.status === "failed" || state.status === "authenticating" ? [state.error] : [];
