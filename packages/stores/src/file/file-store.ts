/** A store in a JSON file, with the format of the file. */
import {
  closeSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { hostname } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { StateError, sleep } from "@toolport/base";
import { createStore, type SealingStore } from "../create-store.js";
import {
  busyError,
  inspectPrivateFile,
  isAlive,
  leaseHolder,
  localSealer,
  type StoreWarning,
  syncDirectory,
  toFileError,
  warn,
} from "../local-files.js";
import { changedKeys, emptyContent, prune, recordMethods, type StoreContent } from "../memory-store.js";
import type { StoreBackend } from "../store-backend.js";

interface FileStoreOptions {
  /** How long a call waits while other processes write, before it fails with `BUSY`. @default 15000 */
  busyTimeoutMs?: number | undefined;
  /** Called when a damaged file was renamed, or permissions were corrected. @default Node's process warnings */
  onWarning?: ((warning: StoreWarning) => void) | undefined;
}

/**
 * A store in a JSON file, for the command line on a Node without SQLite. It has the same guarantees as `sqliteStore`; every write
 * replaces the whole file, so it is meant for small state. Keys come from `TOOLPORT_STORE_KEY`, else from the keychain or
 * `<path>.key`.
 *
 * @example
 * ```ts
 * const store = fileStore("./state.json");
 * ```
 */
export function fileStore(path: string, options: FileStoreOptions = {}): SealingStore {
  const file = resolve(path);
  return createStore(createFileBackend(file, options), { sealer: localSealer(file, options) });
}

/** Interval at which the file is checked while there are watchers. */
const POLL_MS = 250;
const LONGEST_WAIT_MS = 25;

function createFileBackend(
  path: string,
  { busyTimeoutMs = 15_000, onWarning }: FileStoreOptions,
): StoreBackend {
  const file = createStateFile(path, onWarning);
  const lockPath = `${path}.lock`;
  let isSwept = false;
  const sweep = (): void => {
    sweepLock(lockPath);
    file.sweep();
    isSwept = true;
  };

  /** Runs a synchronous step under the lock, so that no other code of this process can interfere. */
  const withLock = async <T>(step: (lock: FileLock) => T): Promise<T> => {
    const deadline = performance.now() + busyTimeoutMs;
    for (let attempt = 1; ; attempt++) {
      const outcome = attemptStep(step);
      if (outcome !== undefined) return outcome.result;
      if (performance.now() >= deadline) throw busyError(path);
      await sleep(1 + Math.random() * Math.min(2 ** attempt, LONGEST_WAIT_MS));
    }
  };
  const attemptStep = <T>(step: (lock: FileLock) => T): { result: T } | undefined => {
    let lock: FileLock | undefined;
    try {
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
      lock = tryLock(lockPath, file.discard);
      if (lock === undefined) return undefined;
      if (!isSwept) sweep();
      return { result: step(lock) };
    } catch (error) {
      if (error instanceof NotReplaced) return undefined;
      if (error instanceof DamagedContent) throw error;
      throw toFileError(error, path);
    } finally {
      lock?.release();
    }
  };
  /** Renames a damaged file, and continues with a new one. */
  const unlessDamaged = async <T>(work: () => T | Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof DamagedContent)) throw toFileError(error, path);
      await withLock(() => file.setAside());
      return work();
    }
  };
  const read = <T>(step: (content: StoreContent) => T): Promise<T> => unlessDamaged(() => step(file.read()));
  const write = <T>(step: (content: StoreContent) => T): Promise<T> =>
    unlessDamaged(() =>
      withLock((lock) => {
        const content = file.read();
        const result = step(content);
        if (result === undefined || result === false) return result;
        // Every change writes the whole file.
        prune(content);
        file.replace(content, lock);
        return result;
      }),
    );

  return {
    // Every write waits for the disk: a file that is replaced as a whole could be lost as a whole.
    ...recordMethods(read, write, leaseHolder),
    watch: (onChange) => pollChanges(file, onChange),
    async close() {},
  };
}

/** Polls the file; reads its content only when it was replaced. */
function pollChanges(file: StateFile, onChange: (key: string) => void): () => void {
  let seen: number | undefined;
  const poll = (): void => {
    try {
      const content = file.read();
      const { last } = content;
      // A smaller number: the file was deleted or renamed, and this is a new one.
      const keys = seen === undefined || last === seen ? [] : changedKeys(content, last > seen ? seen : 0);
      seen = last;
      for (const key of keys) onChange(key);
    } catch {
      // A file that cannot be read now may be readable the next time; then all its keys count as changed.
      seen ??= 0;
    }
  };
  poll();
  const timer = setInterval(poll, POLL_MS);
  timer.unref();
  return () => clearInterval(timer);
}

/** Windows does not replace a file while another process reads it. */
const IN_USE = process.platform === "win32" ? ["EPERM", "EACCES", "EBUSY"] : [];

type StateFile = ReturnType<typeof createStateFile>;

/** The file is unchanged: the lock was taken over, or the file is in use. Trying again is safe. */
class NotReplaced extends Error {}

function createStateFile(path: string, onWarning: FileStoreOptions["onWarning"]) {
  let known: { head: string; content: StoreContent } | undefined;
  const draftOf = (nonce: string) => `${path}.new-${nonce}`;

  const load = (): StoreContent => {
    const file = openSync(path, "r");
    try {
      // Timestamps and inode numbers cannot distinguish two files written at the same moment.
      const head = readHead(file);
      if (known?.head === head) return known.content;
      const content = readContent(readFileSync(file, "utf8"), path);
      known = { head, content };
      return content;
    } finally {
      closeSync(file);
    }
  };

  return {
    /** The current content. The caller may change the object only to `replace` the file with it. */
    read(): StoreContent {
      if (inspectPrivateFile(path, onWarning) === undefined) return emptyContent();
      return load();
    },
    /** Replaces the file in one step. Throws `NotReplaced` if the lock was taken over. */
    replace(content: StoreContent, lock: FileLock): void {
      // The caller changed the content: the cache is valid again after the file is written.
      known = undefined;
      const text = writeContent(content, lock.nonce);
      try {
        writeDurably(draftOf(lock.nonce), text);
        if (!lock.isHeld()) throw new NotReplaced("The lock was taken over");
        renameSync(draftOf(lock.nonce), path);
      } catch (error) {
        rmSync(draftOf(lock.nonce), { force: true });
        const { code = "" } = error as NodeJS.ErrnoException;
        // The draft is gone: the lock was taken over at the last moment.
        if (code === "ENOENT" || IN_USE.includes(code))
          throw new NotReplaced("Not replaced", { cause: error });
        throw error;
      }
      known = { head: text.slice(0, HEAD_LENGTH), content };
      syncDirectory(dirname(path));
    },
    /** Removes the unfinished write of the owner of a lock. */
    discard: (nonce: string) => rmSync(draftOf(nonce), { force: true }),
    /** Renames a damaged file and warns. Requires the lock. */
    setAside(): void {
      try {
        load();
        return;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === "ENOENT") return;
        if (!(error instanceof DamagedContent)) throw error;
      }
      const name = `${path}.corrupt-${new Date().toISOString().replaceAll(/[:.]/g, "-")}`;
      renameSync(path, name);
      const message = `The state file ${path} was damaged. It was renamed to ${name}, and a new one was created`;
      warn({ code: "CORRUPT_SET_ASIDE", message, path: name }, onWarning);
    },
    /** Removes files that killed processes left. Requires the lock. */
    sweep(): void {
      const folder = dirname(path);
      for (const name of readdirSync(folder))
        if (name.startsWith(`${basename(path)}.new-`)) rmSync(join(folder, name), { force: true });
    },
  };
}

function readHead(file: number): string {
  const bytes = Buffer.alloc(HEAD_LENGTH);
  return bytes.toString("latin1", 0, readSync(file, bytes, 0, HEAD_LENGTH, 0));
}

/** Writes a new file that only this user can read, and flushes it to the disk. */
function writeDurably(path: string, text: string): void {
  const file = openSync(path, "wx", 0o600);
  try {
    writeFileSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

const FORMAT = 1;
/** Pairs instead of objects: a key may be `__proto__`. */
const PARTS = ["records", "deletions", "leases"] as const;

/** The file has an unknown format. */
class DamagedContent extends Error {}

/** Characters at the beginning of a text within which two commits differ. */
const HEAD_LENGTH = 64;

/** @param commit a unique UUID for this text */
function writeContent(content: StoreContent, commit: string): string {
  const parts = PARTS.map((part) => [part, [...(content[part] ?? [])]]);
  return JSON.stringify({ toolport: FORMAT, commit, last: content.last, ...Object.fromEntries(parts) });
}

/** Throws {@link DamagedContent}, or a `StateError` for a file of a newer Toolport. */
function readContent(text: string, path: string): StoreContent {
  // A new file is empty.
  if (text === "") return emptyContent();
  const stored = parse(text);
  const { toolport: format, last } = stored;
  if (Number.isSafeInteger(format) && Number(format) > FORMAT) throw newerFormat(path);
  if (format !== FORMAT || !Number.isSafeInteger(last)) throw new DamagedContent("It has no known format");
  const [records, deletions, leases] = PARTS.map((part) => readPairs(stored[part]));
  return { last: Number(last), records, deletions, leases } as unknown as StoreContent;
}

function parse(text: string): Record<string, unknown> {
  try {
    return Object(JSON.parse(text)) as Record<string, unknown>;
  } catch (cause) {
    throw new DamagedContent("It is not JSON", { cause });
  }
}

function readPairs(value: unknown): Map<string, object> {
  const isPair = (pair: unknown): pair is [string, object] =>
    Array.isArray(pair) && typeof pair[0] === "string" && typeof pair[1] === "object" && pair[1] !== null;
  if (!Array.isArray(value) || !value.every(isPair)) throw new DamagedContent("Its records are not a list");
  return new Map(value);
}

const newerFormat = (path: string): StateError =>
  new StateError({
    code: "UNAVAILABLE",
    what: `The state file ${path} was written by a newer Toolport`,
    next: "Update Toolport, or use another file; nothing was changed",
  });

/** A lock lasts for one synchronous read and write. The owner of an older lock is assumed to be dead. */
const STALE_MS = 10_000;
const NONCE = /^[0-9a-f-]{36}$/;

/**
 * A lock between processes without native code: a file that names its owner. The lock of an owner that was killed is taken
 * over.
 */
interface FileLock {
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
