/** What a store has to say that is no failure. */
import { callSafely } from "../../util/call-safely.js";

/** Something a store took care of, or could not do as well as it should. */
export interface StoreWarning {
  /**
   * - `CORRUPT_SET_ASIDE`: the file was damaged; it was renamed and a new one begun.
   * - `PERMISSIONS_FIXED`: others could read the file; now they cannot.
   * - `WAL_NOT_USED`: SQLite's quicker and safer way to write is not possible here.
   */
  code: "CORRUPT_SET_ASIDE" | "PERMISSIONS_FIXED" | "WAL_NOT_USED";
  message: string;
  /** The file it is about. */
  path: string;
}

/** Hands a warning to whoever listens, else to Node's own warnings (stderr). */
export function warn(warning: StoreWarning, onWarning: ((warning: StoreWarning) => void) | undefined): void {
  const fallback = () =>
    process.emitWarning(warning.message, { type: "ToolportWarning", code: warning.code });
  if (onWarning === undefined) fallback();
  else callSafely(() => onWarning(warning), fallback);
}
