/** The store that keeps Toolport's state could not be used. */
import { ToolportError } from "./toolport-error.js";

export type StateErrorCode = "UNAVAILABLE" | "BUSY" | "CORRUPT" | "KEY_MISMATCH" | "FULL";

/** Thrown when saved state cannot be read or written. */
export class StateError extends ToolportError<StateErrorCode> {
  static override readonly kind = "StateError";
  override readonly name = "StateError";
}
