/** The JSON file of a store: read when it has changed, replaced as a whole, renamed when it is damaged. */
import {
  closeSync,
  fsyncSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { syncDirectory } from "../local/key-file.js";
import { inspectPrivateFile } from "../local/private-file.js";
import { type StoreWarning, warn } from "../store-warning.js";
import { DamagedContent, HEAD_LENGTH, readContent, writeContent } from "./content-text.js";
import type { FileLock } from "./file-lock.js";
import { emptyContent, type FileContent } from "./file-records.js";

/** Windows does not replace a file while another process reads it. */
const IN_USE = process.platform === "win32" ? ["EPERM", "EACCES", "EBUSY"] : [];

export interface StateFile {
  /** The current content. The caller may change the object only to `replace` the file with it. */
  read(): FileContent;
  /** Replaces the file in one step. Throws `NotReplaced` if the lock was taken over. */
  replace(content: FileContent, lock: FileLock): void;
  /** Removes the unfinished write of the owner of a lock. */
  discard(nonce: string): void;
  /** Renames a damaged file and warns. Requires the lock. */
  setAside(): void;
  /** Removes files that killed processes left. Requires the lock. */
  sweep(): void;
}

/** The file is unchanged: the lock was taken over, or the file is in use. Trying again is safe. */
export class NotReplaced extends Error {}

export function createStateFile(
  path: string,
  onWarning: ((warning: StoreWarning) => void) | undefined,
): StateFile {
  let known: { head: string; content: FileContent } | undefined;
  const draftOf = (nonce: string) => `${path}.new-${nonce}`;

  const load = (): FileContent => {
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
    read() {
      if (inspectPrivateFile(path, onWarning) === undefined) return emptyContent();
      return load();
    },
    replace(content, lock) {
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
    discard: (nonce) => rmSync(draftOf(nonce), { force: true }),
    setAside() {
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
    sweep() {
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
