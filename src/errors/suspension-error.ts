/** A call that cannot be suspended or resumed. */
import { ToolportError, type ToolportErrorInit } from "./toolport-error.js";

export type SuspensionErrorCode =
  /** No call waits under this token for this principal: it is wrong, used, expired or of another principal. */
  | "SUSPENSION_UNKNOWN"
  /** The server of the call is not configured here, or another server has its name now. */
  | "SUSPENSION_MOVED"
  /** The server no longer accepts the state of the call (`at: "server"`). */
  | "SUSPENSION_EXPIRED"
  /** The same `key` was used for another call. */
  | "KEY_REUSED"
  /** The process that sent the call ended before the result was saved, so the tool may have run. */
  | "OUTCOME_UNKNOWN"
  /** The call cannot be suspended here. */
  | "NOT_OFFERED";

/** Thrown when a call cannot be suspended or resumed. */
export class SuspensionError extends ToolportError<SuspensionErrorCode> {
  static override readonly kind = "SuspensionError";
  override readonly name = "SuspensionError";
  /** Where the state of the call expired; only with `SUSPENSION_EXPIRED`. */
  readonly at?: "server" | undefined;

  constructor(init: ToolportErrorInit<SuspensionErrorCode> & { at?: "server" | undefined }) {
    super(init);
    this.at = init.at;
  }
}
