/** Ensures that only this user can read a file with secrets. */
import { chmodSync, closeSync, lstatSync, mkdirSync, openSync, type Stats } from "node:fs";
import { dirname } from "node:path";
import { StateError } from "../../../errors/state-error.js";
import { type StoreWarning, warn } from "../store-warning.js";

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
