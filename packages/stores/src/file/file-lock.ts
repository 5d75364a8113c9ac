/**
 * A lock between processes without native code: a file that names its owner. The lock of an owner that was killed is taken
 * over.
 */
import { linkSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { basename, dirname, join } from "node:path";
import { isAlive, leaseHolder } from "../local-files.js";

/** A lock lasts for one synchronous read and write. The owner of an older lock is assumed to be dead. */
const STALE_MS = 10_000;
const NONCE = /^[0-9a-f-]{36}$/;

export interface FileLock {
  /** Unique for this lock. */
  readonly nonce: string;
  /** False after another process has taken it over: then the caller must not write any more. */
  isHeld(): boolean;
  release(): void;
}

/**
 * Acquires the lock at `path` if it is free or its owner is dead; undefined to try again. Never waits.
 *
 * @param discard removes the unfinished write of the owner with this nonce. Called before its lock is taken over: a process that
 * was only suspended finds nothing to commit when it continues.
 */
export function tryLock(path: string, discard: (nonce: string) => void): FileLock | undefined {
  if (readOwner(path)?.isGone === false) return undefined;
  const nonce = crypto.randomUUID();
  const draft = `${path}.${nonce}`;
  // Written to a temporary file and linked, so that a lock file always names its owner.
  writeFileSync(draft, `${processId()}\n${nonce}`, { flag: "wx", mode: 0o600 });
  try {
    if (!occupy(path, { path, draft, discard })) return undefined;
  } finally {
    rmSync(draft, { force: true });
  }
  const isHeld = () => readOwner(path)?.nonce === nonce;
  return {
    nonce,
    isHeld,
    release() {
      if (isHeld()) rmSync(path, { force: true });
    },
  };
}

/**
 * Links the draft to `target`. If the owner of `target` is dead, replacing it needs a separate lock, named after that
 * owner: only one process gets it, and `target` cannot change between its check and the replacement. The owner of that lock may be dead
 * too.
 */
function occupy(
  target: string,
  lock: { path: string; draft: string; discard: (nonce: string) => void },
): boolean {
  const { path, draft, discard } = lock;
  try {
    linkSync(draft, target);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  const owner = readOwner(target);
  if (owner?.isGone !== true) return false;
  const claim = `${path}-${owner.nonce}`;
  if (!occupy(claim, lock)) return false;
  try {
    if (readOwner(target)?.nonce !== owner.nonce) return false;
    discard(owner.nonce);
    const copy = `${draft}-copy`;
    linkSync(draft, copy);
    renameSync(copy, target);
    return true;
  } finally {
    rmSync(claim, { force: true });
  }
}

/** Removes files that killed processes left beside the lock at `path`. Requires the lock: claims on earlier locks are void then. */
export function sweepLock(path: string): void {
  const [folder, base] = [dirname(path), basename(path)];
  for (const name of readdirSync(folder)) {
    const isClaim = name.startsWith(`${base}-`);
    if (isClaim || (name.startsWith(`${base}.`) && isOld(join(folder, name))))
      rmSync(join(folder, name), { force: true });
  }
}

const isOld = (path: string): boolean => {
  const { mtimeMs } = statSync(path, { throwIfNoEntry: false }) ?? { mtimeMs: Date.now() };
  return Math.abs(Date.now() - mtimeMs) > STALE_MS;
};

/**
 * The owner of a lock, with the identity of one acquisition: its nonce, or that of a lock file whose content is lost. Undefined if
 * there is no such lock.
 */
function readOwner(path: string): { nonce: string; isGone: boolean } | undefined {
  try {
    const [id = "", nonce = ""] = readFileSync(path, "utf8").split("\n");
    if (NONCE.test(nonce)) return { nonce, isGone: isGone(id) || isOld(path) };
    // A power failure may leave an empty file.
    const { mtimeMs, ino } = statSync(path);
    return { nonce: `${ino}-${Math.floor(mtimeMs)}`, isGone: isOld(path) };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

const processId = (): string => leaseHolder()?.id ?? `${hostname()} ${process.pid}`;

function isGone(id: string): boolean {
  const holder = leaseHolder();
  if (holder !== undefined) return holder.isGone(id);
  const pid = Number(id.slice(hostname().length + 1));
  return id.startsWith(`${hostname()} `) && Number.isSafeInteger(pid) && pid > 0 && !isAlive(pid);
}
