/** The key file beside a database: it contains the keys, or the names of their keychain entries. */
import {
  closeSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";
import type { StoreWarning } from "../store-warning.js";
import { inspectPrivateFile } from "./private-file.js";

/** Its lines: the first is the current key. Undefined if there is no such file. */
export function readKeyFile(
  path: string,
  onWarning: ((warning: StoreWarning) => void) | undefined,
): string[] | undefined {
  if (inspectPrivateFile(path, onWarning) === undefined) return undefined;
  return readKeyLines(path);
}

/** Its lines without comments. Checks nothing. */
export function readKeyLines(path: string): string[] {
  const lines = readFileSync(path, "utf8").split("\n");
  return lines.map((line) => line.trim()).filter((line) => line !== "" && !line.startsWith("#"));
}

/** Creates the file with one line. False if it already exists: only one of several processes succeeds. */
export function createKeyFile(path: string, line: string): boolean {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  // Written to a temporary file and linked, so that no process reads a partial key, or an empty file after a crash.
  const draft = `${path}.${crypto.randomUUID()}`;
  const file = openSync(draft, "wx", 0o600);
  try {
    writeFileSync(file, `${line}\n`);
    fsyncSync(file);
    linkSync(draft, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  } finally {
    closeSync(file);
    rmSync(draft, { force: true });
  }
  syncDirectory(dirname(path));
  return true;
}

/** The name of a new file is durable only after its directory is flushed. */
export function syncDirectory(path: string): void {
  if (process.platform === "win32") return;
  const directory = openSync(path, "r");
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}
