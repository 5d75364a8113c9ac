/** Puts a damaged file out of the way without losing a byte of it, once, however many processes see the damage. */
import { closeSync, existsSync, openSync, renameSync, rmSync, statSync } from "node:fs";

/** What SQLite keeps beside a database, and last the database itself: a new one must not find an old companion. */
const PARTS = ["-wal", "-shm", "-journal", ""];
/** Whoever holds the lock that long has died with it. */
const STALE_LOCK_MS = 10_000;

/**
 * Renames the file and its companions if `isDamaged` still says so, and returns the new name. Undefined: somebody else did
 * it, or is about to.
 */
export function setAside(path: string, isDamaged: () => boolean): string | undefined {
  const lock = `${path}.repair`;
  if (!takeLock(lock)) return undefined;
  try {
    // Without a second look, the new file of a quicker process would be taken for the damaged one.
    if (!isDamaged()) return undefined;
    const name = `${path}.corrupt-${new Date().toISOString().replaceAll(/[:.]/g, "-")}`;
    for (const part of PARTS) if (existsSync(path + part)) renameSync(path + part, name + part);
    return name;
  } finally {
    rmSync(lock, { force: true });
  }
}

function takeLock(lock: string): boolean {
  try {
    closeSync(openSync(lock, "wx", 0o600));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  const held = statSync(lock, { throwIfNoEntry: false });
  if (held !== undefined && Date.now() - held.mtimeMs > STALE_LOCK_MS) rmSync(lock, { force: true });
  return false;
}
