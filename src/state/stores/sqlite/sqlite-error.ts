/** Converts SQLite's result codes into `StateError`s. See https://www.sqlite.org/rescode.html. */
import { StateError } from "../../../errors/state-error.js";
import { busyError, fullError, toFileError } from "../local/file-error.js";

const BUSY = [5, 6, 15]; // BUSY, LOCKED, PROTOCOL
const DAMAGED = [11, 26]; // CORRUPT, NOTADB
const READ_ONLY = 8;
const FULL = 13;
/** Write errors that are caused by a quota or a limit of the file size. */
const LIMITED = [778, 4874]; // IOERR_WRITE, IOERR_SHMSIZE

/** SQLite's extended result code, or Node's code of a failed file operation. */
function codeOf(error: unknown): unknown {
  const { errcode, code } = Object(error) as { errcode?: unknown; code?: unknown };
  return errcode ?? code;
}

const primaryCode = (error: unknown): number | undefined => {
  const code = codeOf(error);
  return typeof code === "number" ? code & 0xff : undefined;
};

/** Another process is writing: retry shortly. */
export const isBusy = (error: unknown): boolean =>
  BUSY.includes(primaryCode(error) ?? -1) || (error instanceof StateError && error.code === "BUSY");

/** The file is not a database, or is damaged. */
export const isDamaged = (error: unknown): boolean => DAMAGED.includes(primaryCode(error) ?? -1);

/** The connection is read-only. It stays so even if the file becomes writable again. */
export const isReadOnly = (error: unknown): boolean => primaryCode(error) === READ_ONLY;

const isFull = (error: unknown): boolean =>
  primaryCode(error) === FULL || LIMITED.includes(codeOf(error) as number);

/** Converts any error of the file to a `StateError`. */
export function toStateError(error: unknown, path: string): StateError {
  if (error instanceof StateError) return error;
  if (isBusy(error)) return busyError(path, error);
  if (isFull(error)) return fullError(path, error);
  if (!isDamaged(error)) return toFileError(error, path);
  return new StateError({
    code: "CORRUPT",
    what: `The state file ${path} is damaged`,
    next: "The next call renames it and creates a new one",
    retryable: true,
    cause: error,
  });
}
