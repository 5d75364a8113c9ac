/** A failure of the state store. */
import { ToolportError } from "./toolport-error.js";

export type StateErrorCode = "UNAVAILABLE" | "BUSY" | "CORRUPT" | "KEY_MISMATCH" | "FULL";

/** Thrown when stored state cannot be read or written. */
export class StateError extends ToolportError<StateErrorCode> {
  static override readonly kind = "StateError";
  override readonly name = "StateError";
}
