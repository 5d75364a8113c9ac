/** Warnings of a store: conditions that are no errors. */
import { callSafely } from "../../util/call-safely.js";

/** A problem that a store corrected, or a feature that it could not use. */
export interface StoreWarning {
  /**
   * - `CORRUPT_SET_ASIDE`: the file was damaged; it was renamed and a new one created.
   * - `PERMISSIONS_FIXED`: others could read the file; now they cannot.
   * - `WAL_NOT_USED`: SQLite's write-ahead log, which is faster and safer, cannot be used here.
   */
  code: "CORRUPT_SET_ASIDE" | "PERMISSIONS_FIXED" | "WAL_NOT_USED";
  message: string;
  /** The file it is about. */
  path: string;
}

/** Passes a warning to `onWarning`, or to Node's process warnings (stderr). */
export function warn(warning: StoreWarning, onWarning: ((warning: StoreWarning) => void) | undefined): void {
  const fallback = () =>
    process.emitWarning(warning.message, { type: "ToolportWarning", code: warning.code });
  if (onWarning === undefined) fallback();
  else callSafely(() => onWarning(warning), fallback);
}
