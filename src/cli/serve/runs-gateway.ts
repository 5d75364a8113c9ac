/** Recognises entries of configuration files that run `toolport serve`. */
import { realpathSync } from "node:fs";
import { textsIn } from "../../node/project-files.js";

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
