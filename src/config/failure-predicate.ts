/** A user's rule for failed calls, and its arguments. */
import type { ToolportError } from "../errors/toolport-error.js";
import type { ServerRef } from "../model/listed-tool.js";

/** A call that has failed on one server. */
export interface FailedCall {
  /** The server that failed. */
  readonly server: ServerRef;
  readonly tool: {
    /** Its public name. */
    readonly name: string;
    /** Its name on the server. */
    readonly sourceName: string;
  };
  readonly args: Readonly<Record<string, unknown>>;
  /** How often the call was sent so far, to all servers together. */
  readonly attempts: number;
  /** The caller's `context`. */
  readonly context?: unknown;
}

/**
 * Decides whether a failure is transient. `undefined` leaves the decision to Toolport. It is synchronous; a promise counts as
 * `undefined`.
 *
 * @example
 * ```ts
 * const isServerBusy: FailurePredicate = (error) =>
 *   error instanceof ToolCallError && error.rpcCode === -32050 ? true : undefined;
 * ```
 */
export type FailurePredicate = (error: ToolportError, call: FailedCall) => boolean | undefined;
