/** Failures of file operations on a state file, as `StateError`s. */
import { StateError } from "../../../errors/state-error.js";

/** No space by name, or by cause: a quota, a limit of the file's size. */
const FULL = ["ENOSPC", "EDQUOT", "EFBIG"];

/** What a failed file operation means for the state file `path`. */
export function toFileError(error: unknown, path: string): StateError {
  if (error instanceof StateError) return error;
  return FULL.includes((Object(error) as { code?: unknown }).code as string)
    ? fullError(path, error)
    : new StateError({
        code: "UNAVAILABLE",
        what: `The state file ${path} cannot be used`,
        next: "Check that the file and its directory are there and can be written by this user",
        cause: error,
      });
}

/** The state file cannot grow. */
export const fullError = (path: string, cause: unknown): StateError =>
  new StateError({
    code: "FULL",
    what: `The state file ${path} cannot grow: the disk is full, or a limit is reached`,
    next: "Free some space; what was saved before is still there",
    retryable: true,
    cause,
  });

/** Another process kept the file locked for too long. */
export const busyError = (path: string, cause?: unknown): StateError =>
  new StateError({
    code: "BUSY",
    what: `The state file ${path} was locked by another process for too long`,
    next: "Find out which process holds it, or try again",
    retryable: true,
    cause,
  });
