/** Failures of file operations on a state file, as `StateError`s. */
import { StateError } from "../../../errors/state-error.js";

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
