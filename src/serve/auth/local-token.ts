/** The token of a gateway without users: made once, in a file that only this user can read. */
import { ConfigError } from "../../errors/config-error.js";
import { createKeyFile, readKeyFile } from "../../state/stores/local/key-file.js";

/** What {@link loadLocalToken} found. */
export interface LocalToken {
  readonly token: string;
  /** The file did not exist before. */
  readonly isNew: boolean;
}

const USABLE = /^[!-~]{32,}$/;

/**
 * Reads the token file, or creates it (0600) with 256 random bits. Processes that start at the same time get the same token.
 *
 * @param path e.g. `serve-token` in the state folder
 * @throws ConfigError if the file has no usable token; StateError if it is a link, or a file of another user
 */
export function loadLocalToken(path: string, warn: (message: string) => void): LocalToken {
  const found = readToken(path, warn);
  if (found !== undefined) return { token: found, isNew: false };
  const token = Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("base64url");
  if (createKeyFile(path, token)) return { token, isNew: true };
  // Another process created it first.
  return loadLocalToken(path, warn);
}

function readToken(path: string, warn: (message: string) => void): string | undefined {
  const lines = readKeyFile(path, ({ message }) => warn(message));
  if (lines === undefined) return undefined;
  const [token = ""] = lines;
  if (lines.length === 1 && USABLE.test(token)) return token;
  throw new ConfigError({
    code: "INVALID_CONFIG",
    what: `The token file ${path} must contain one token of at least 32 characters, and nothing else`,
    next: "Delete the file to get a new token, or write one into it",
  });
}
