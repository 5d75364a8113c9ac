/** Calls that wait for a person: what the caller of a suspended call gets, and how it is resumed. */
import type { ElicitationAnswer, ElicitationRequest } from "../../protocol/server-requests/elicitation.js";
import type { CallToolOptions } from "../tool-call.js";

interface SuspendedCall {
  readonly suspended: true;
  /**
   * Resumes the call once. A secret: together with access to the store and the principal it is all that is needed. The text
   * begins with `tpc1.`, that of a program of code mode with `tpp1.`
   */
  readonly token: string;
  /** Configured name of the server that is asked next. */
  readonly server: string;
  /** Public name of the tool. */
  readonly tool: string;
  /** The arguments that are sent to the server. Nothing can change them any more. */
  readonly args: Readonly<Record<string, unknown>>;
  /** Number of rounds of input before this one. */
  readonly round: number;
  /** Until when Toolport keeps the call, in ISO 8601. Servers may expire earlier. */
  readonly expiresAt: string;
}

/** The server asks the user for something. */
export interface SuspendedForInput extends SuspendedCall {
  readonly reason: "input";
  /** What the server asks, by the key of the answer. */
  readonly requests: Readonly<Record<string, ElicitationRequest>>;
}

/** The option `approve` left the decision to a person. */
export interface SuspendedForApproval extends SuspendedCall {
  readonly reason: "approval";
  readonly requests: Readonly<Record<string, never>>;
}

/** The server wants the user to log in first. */
export interface SuspendedForLogin extends SuspendedCall {
  readonly reason: "login";
  readonly requests: {
    /** The page where the user can log in, if known. */
    readonly authUrl?: string | undefined;
  };
}

/**
 * A call that waits for a person. It is saved in the store and continues with `toolport.resume(token, …)`, in this process or
 * another one.
 *
 * @example
 * ```ts
 * const out = await toolport.callTool("travel__book", { to: "Oslo" }, { suspend: true });
 * if (isSuspended(out) && out.reason === "input") console.log(Object.values(out.requests)[0]?.message);
 * ```
 */
export type Suspended = SuspendedForInput | SuspendedForApproval | SuspendedForLogin;

/** The decision of the person. */
export interface ResumeInput {
  /** For `reason: "input"`: the answer to each question, by its key. */
  answers?: Readonly<Record<string, ElicitationAnswer>>;
  /** For `reason: "approval"`. `false` ends the call with `REFUSED`. */
  approve?: boolean;
  /** Send the call although it may have run already; see `OUTCOME_UNKNOWN`. @default false */
  again?: boolean;
  /** Begin the call anew, for instance after `SUSPENSION_EXPIRED`. An approval stays valid. @default false */
  restart?: boolean;
  /** Who answered, for events and audit logs. @default none */
  answeredBy?: string;
}

/** Options of `resume()`; they apply to this round only. */
export type ResumeOptions = Pick<
  CallToolOptions,
  "timeoutMs" | "signal" | "onProgress" | "context" | "headers"
>;

/**
 * True for a call that waits for a person.
 *
 * @example
 * ```ts
 * const out = await toolport.callTool(name, args, { suspend: true });
 * console.log(isSuspended(out) ? out.reason : out.text);
 * ```
 */
export const isSuspended = (value: unknown): value is Suspended =>
  (value as { suspended?: unknown } | null | undefined)?.suspended === true;
