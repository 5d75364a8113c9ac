/** The token of a gateway without users: made once, in a file that only this user can read, or given in a file such as a secret. */
import { chmodSync, lstatSync, statSync } from "node:fs";
import { ConfigError } from "@toolport/base";
import { createKeyFile, readKeyLines } from "@toolport/stores";

const USABLE = /^[!-~]{32,}$/;
const OTHERS = 0o077;
/** A file of root is often readable by the group of the gateway. */
const OTHERS_OF_ROOT = 0o027;

/**
 * Reads the token file, or creates it (0600) with 256 random bits. Processes that start at the same time get the same token.
 * An existing file may be a link, and may belong to root, as secrets of containers do. Nothing is created through a link.
 *
 * @param path e.g. `serve-token` in the state folder
 * @returns the token, and whether the file did not exist before
 * @throws ConfigError if the file has no usable token, cannot be read, or belongs to another user
 */
export function loadLocalToken(
  path: string,
  warn: (message: string) => void,
): { readonly token: string; readonly isNew: boolean } {
  const found = readToken(path, warn);
  if (found !== undefined) return { token: found, isNew: false };
  const token = Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("base64url");
  if (createKeyFile(path, token)) return { token, isNew: true };
  // Another process created it first.
  return loadLocalToken(path, warn);
}

function readToken(path: string, warn: (message: string) => void): string | undefined {
  if (!inspect(path, warn)) return undefined;
  const lines = readLines(path);
  const [token = ""] = lines;
  if (lines.length === 1 && USABLE.test(token)) return token;
  throw new ConfigError({
    code: "INVALID_CONFIG",
    what: `The token file ${path} must contain one token of at least 32 characters, and nothing else`,
    next: "Delete the file to get a new token, or write one into it",
  });
}

/** False if there is no such file. */
function inspect(path: string, warn: (message: string) => void): boolean {
  const entry = lstatSync(path, { throwIfNoEntry: false });
  if (entry === undefined) return false;
  const isLink = entry.isSymbolicLink();
  const file = isLink ? statSync(path, { throwIfNoEntry: false }) : entry;
  if (file === undefined) throw refused(path, "is a link to a file that does not exist");
  if (!file.isFile()) throw refused(path, "is not a file");
  // On Windows Node reports neither owner nor mode.
  const user = process.getuid?.();
  if (user === undefined) return true;
  if ([entry, file].some(({ uid }) => uid !== user && uid !== 0))
    throw refused(path, "belongs to another user");
  const isOwn = file.uid === user;
  if ((file.mode & (isOwn ? OTHERS : OTHERS_OF_ROOT)) === 0) return true;
  if (isOwn && !isLink && makePrivate(path))
    warn(`${path} was accessible to other users of this machine; their permissions were removed`);
  else
    warn(
      `The token file ${path} is accessible to other users. Remove their permissions (a secret of Kubernetes: defaultMode: 0400, or 0440 with fsGroup)`,
    );
  return true;
}

/** False on a file system that is read-only. */
function makePrivate(path: string): boolean {
  try {
    chmodSync(path, 0o600);
    return true;
  } catch {
    return false;
  }
}

function readLines(path: string): string[] {
  try {
    return readKeyLines(path);
  } catch (cause) {
    throw refused(path, `cannot be read (${(cause as NodeJS.ErrnoException).code})`, cause);
  }
}

const refused = (path: string, why: string, cause?: unknown): ConfigError =>
  new ConfigError({
    code: "UNREADABLE_CONFIG",
    what: `The token file ${path} ${why}`,
    next: "Use a file of this user or of root that this user can read; nothing was changed",
    cause,
  });
