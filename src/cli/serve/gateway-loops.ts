/** Keeps a gateway from starting itself: recognises entries that run `toolport serve`, and passes the configurations above on to child processes. */

import { createHash } from "node:crypto";
import { realpathSync } from "node:fs";
import { hostname } from "node:os";
import { ConfigError } from "../../errors/config-error.js";
import { textsIn } from "../../node/project-files.js";
import { SERVE_CHAIN_VARIABLE } from "../../transports/stdio/spawn-environment.js";

/** `toolport`, `toolport@1.2.3`, `/usr/bin/toolport`, `toolport.cmd`. */
const PROGRAM = /(?:^|[\\/])toolport(?:@[^\s/\\]+)?(?:\.(?:cmd|exe|ps1))?$/i;
/** The file of the program in an installed package or a checkout. */
const MAIN = /[\\/]toolport[^\\/]*[\\/](?:.*[\\/])?cli[\\/]main\.js$/i;
const SHELL = /(?:^|[\\/])(?:sh|bash|zsh|dash|fish|cmd|powershell|pwsh)(?:\.exe)?$/i;

/**
 * True for an entry that runs this program as a gateway: directly, through `npx` and its relatives, through `node`, or in a
 * shell.
 *
 * @param entry an entry in Toolport's format; variables need not be expanded
 * @param commands the names of all commands
 */
export function runsGateway(
  entry: Readonly<Record<string, unknown>>,
  commands: readonly string[],
  ownFile: string | undefined = process.argv[1],
): boolean {
  const { command } = entry;
  if (typeof command !== "string") return false;
  const given = [command, ...textsIn(entry["args"])];
  const words = SHELL.test(command) ? given.flatMap((text) => text.match(/[^\s'"`;&|()]+/g) ?? []) : given;
  const at = words.findIndex((word) => PROGRAM.test(word) || MAIN.test(word) || isSameFile(word, ownFile));
  return at >= 0 && words.slice(at + 1).find((word) => commands.includes(word)) === "serve";
}

function isSameFile(word: string, file: string | undefined): boolean {
  if (file === undefined || !/main\.js$/.test(word)) return false;
  try {
    return realpathSync(word) === realpathSync(file);
  } catch {
    return false;
  }
}

/** Gateways above a gateway. */
const MAX_DEPTH = 3;
const HASH_LENGTH = 16;

/**
 * The chain for the processes that this gateway starts: the hashes of the files of each gateway, `a+b/c`.
 *
 * @param above the value of the variable in this process
 * @param files the configuration files of this gateway
 * @throws ConfigError if a gateway above uses all of these files, or if there are too many above
 */
export function extendServeChain(above: string | undefined, files: readonly string[]): string {
  const gateways = above ? above.split("/") : [];
  const own = [...new Set(files.map(hashOf))].sort();
  const isAbove = gateways.some((gateway) => {
    const known = new Set(gateway.split("+"));
    return own.length > 0 && own.every((hash) => known.has(hash));
  });
  if (isAbove)
    throw new ConfigError({
      code: "INVALID_CONFIG",
      what: `This gateway was started by a gateway with the same configuration, and would start itself again: ${files.join(", ")}`,
      next: "Remove the entry that runs `toolport serve`, or give it a file of its own with --config",
    });
  if (gateways.length > MAX_DEPTH)
    throw new ConfigError({
      code: "INVALID_CONFIG",
      what: `There are ${gateways.length} gateways above this one, each started by the one before; ${MAX_DEPTH} are allowed`,
      next: "Connect the servers to one gateway",
    });
  return [...gateways, own.join("+") || "-"].join("/");
}

/** Sets the variable until the returned function is called. */
export function enterServeChain(files: readonly string[], env: NodeJS.ProcessEnv = process.env): () => void {
  const before = env[SERVE_CHAIN_VARIABLE];
  env[SERVE_CHAIN_VARIABLE] = extendServeChain(before, files);
  return () => {
    if (before === undefined) delete env[SERVE_CHAIN_VARIABLE];
    else env[SERVE_CHAIN_VARIABLE] = before;
  };
}

/** By path, so that a change of the file does not hide a loop. Two containers may have different files at the same path. */
function hashOf(file: string): string {
  const parts = JSON.stringify([hostname(), realPath(file)]);
  return createHash("sha256").update(parts).digest("hex").slice(0, HASH_LENGTH);
}

function realPath(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    return file;
  }
}
