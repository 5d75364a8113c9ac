/** Records in a JSON file that any number of processes of one machine may share. Needs only Node. */
import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { sleep } from "../../../util/sleep.js";
import type { StoreBackend } from "../../store-backend.js";
import { busyError, toFileError } from "../local/file-error.js";
import { leaseHolder } from "../local/lease-holder.js";
import type { StoreWarning } from "../store-warning.js";
import { DamagedContent } from "./content-text.js";
import { type FileLock, sweepLock, tryLock } from "./file-lock.js";
import {
  changedKeys,
  deleteRow,
  type FileContent,
  getRow,
  grantLease,
  listRows,
  moveLeaseEnd,
  putRow,
} from "./file-records.js";
import { createStateFile, NotReplaced, type StateFile } from "./state-file.js";

/** Interval at which the file is checked while there are watchers. */
const POLL_MS = 250;
const LONGEST_WAIT_MS = 25;

interface FileBackendOptions {
  path: string;
  busyTimeoutMs: number;
  onWarning: ((warning: StoreWarning) => void) | undefined;
}

export function createFileBackend({ path, busyTimeoutMs, onWarning }: FileBackendOptions): StoreBackend {
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
  const read = <T>(step: (content: FileContent) => T): Promise<T> => unlessDamaged(() => step(file.read()));
  /** A step that returns undefined or false changed nothing. */
  const write = <T>(step: (content: FileContent) => T): Promise<T> =>
    unlessDamaged(() =>
      withLock((lock) => {
        const content = file.read();
        const result = step(content);
        if (result !== undefined && result !== false) file.replace(content, lock);
        return result;
      }),
    );

  return {
    get: (key) => read((content) => getRow(content, key)),
    // Every write waits for the disk: a file that is replaced as a whole could be lost as a whole.
    put: (key, text, conditions) => write((content) => putRow(content, { key, text, ...conditions })),
    delete: (key, { ifVersion }) => write((content) => deleteRow(content, key, ifVersion)),
    list: (prefix) => read((content) => listRows(content, prefix)),
    acquireLease: (name, ttlMs) =>
      write((content) => grantLease(content, { name, ttlMs, holder: leaseHolder() })),
    renewLease: (name, fence, ttlMs) =>
      write((content) => moveLeaseEnd(content, { name, fence, expiresAt: Date.now() + ttlMs })),
    async releaseLease(name, fence) {
      await write((content) => moveLeaseEnd(content, { name, fence, expiresAt: Date.now() }));
    },
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
