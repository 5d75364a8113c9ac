/** Ensures that only this user can read a file with secrets. */
import { chmodSync, closeSync, lstatSync, mkdirSync, openSync, type Stats } from "node:fs";
import { dirname } from "node:path";
import { StateError } from "../../../errors/toolport-error.js";
import { callSafely } from "../../../util/callbacks.js";

const PRIVATE_FILE = 0o600;
const PRIVATE_DIRECTORY = 0o700;
const OTHERS = 0o077;

type OnWarning = ((warning: StoreWarning) => void) | undefined;

/**
 * Creates the file (0600) and its directory (0700) if they are missing. Removes the permissions of other users from an existing file,
 * with a warning; rejects a link, and a file of another user.
 */
export function claimFile(path: string, onWarning: OnWarning): void {
  mkdirSync(dirname(path), { recursive: true, mode: PRIVATE_DIRECTORY });
  if (inspectPrivateFile(path, onWarning) !== undefined) return;
  try {
    closeSync(openSync(path, "wx", PRIVATE_FILE));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    // Another process created it first, or it is another kind of file.
    inspectPrivateFile(path, onWarning);
  }
}

/** Only checks; undefined if there is no such file. Never opens it: that would drop SQLite's locks on it. */
export function inspectPrivateFile(path: string, onWarning: OnWarning): Stats | undefined {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return undefined;
  if (stats.isSymbolicLink()) throw refused(path, "is a symbolic link");
  if (!stats.isFile()) throw refused(path, "is not a file");
  // On Windows Node reports neither owner nor mode.
  const user = process.getuid?.();
  if (user === undefined) return stats;
  if (stats.uid !== user) throw refused(path, "belongs to another user");
  if ((stats.mode & OTHERS) !== 0) {
    chmodSync(path, PRIVATE_FILE);
    const message = `${path} was accessible to other users of this machine; their permissions were removed`;
    warn({ code: "PERMISSIONS_FIXED", message, path }, onWarning);
  }
  return stats;
}

const refused = (path: string, why: string): StateError =>
  new StateError({
    code: "UNAVAILABLE",
    what: `The state file ${path} ${why}`,
    next: "Use a file that belongs to this user; nothing was changed",
  });

/** Error codes for no space left, a quota, or a limit of the file size. */
const FULL = ["ENOSPC", "EDQUOT", "EFBIG"];

/** Converts the error of a file operation on the state file `path`. */
export function toFileError(error: unknown, path: string): StateError {
  if (error instanceof StateError) return error;
  return FULL.includes((Object(error) as { code?: unknown }).code as string)
    ? fullError(path, error)
    : new StateError({
        code: "UNAVAILABLE",
        what: `The state file ${path} cannot be used`,
        next: "Check that the file and its directory exist and that this user can write to them",
        cause: error,
      });
}

/** The state file cannot grow. */
export const fullError = (path: string, cause: unknown): StateError =>
  new StateError({
    code: "FULL",
    what: `The state file ${path} cannot grow: the disk is full, or a limit is reached`,
    next: "Free some space; the saved records are unchanged",
    retryable: true,
    cause,
  });

/** Another process kept the file locked for too long. */
export const busyError = (path: string, cause?: unknown): StateError =>
  new StateError({
    code: "BUSY",
    what: `The state file ${path} was locked by another process for too long`,
    next: "Find the process that locks it, or try again",
    retryable: true,
    cause,
  });

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
