/** Builds an entry from the command line: a URL, or a command after `--`. */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { resolveCommand } from "../../config/resolve-path.js";
import { CliError } from "../cli-error.js";
import { flagOption, type Invocation, textOption } from "../command.js";
import type { CommandContext } from "../command-context.js";
import { shellWord } from "../next-command.js";
import { nameFromUrl } from "../server-names.js";
import { type Addition, readEnv, readHeaders } from "./addition.js";

export function readTyped(invocation: Invocation, context: Pick<CommandContext, "cwd">): Addition {
  const { words, passthrough } = invocation;
  const [name, address] = words;
  if (name === undefined) throw usage("name is missing: a name for the server");
  if (passthrough.length > 0 && address !== undefined)
    throw usage(`A server has a URL or a command, not both: ${address}`);
  const entry = passthrough.length > 0 ? typedCommand(invocation, context) : typedUrl(invocation);
  return { name, entry, shown: entry, needsConsent: false, warnings: [], notes: notesOn(entry, passthrough) };
}

/** Says what a relative path will mean. */
function notesOn(
  { args, cwd }: Readonly<Record<string, unknown>>,
  [, ...given]: readonly string[],
): string[] {
  const stored = Array.isArray(args) ? args : [];
  const changed = given.flatMap((arg, index) =>
    stored[index] === arg ? [] : [`${arg} is stored as ${String(stored[index])}`],
  );
  const isKept = given.some((arg, index) => RELATIVE.test(arg) && stored[index] === arg);
  return isKept && cwd === "." ? [...changed, "Relative paths mean the folder of the file"] : changed;
}

/** `.`, `../x` and `--root=./x`. */
const RELATIVE = /^(--?[\w-]+=)?(\.{1,2}(?:[\\/].*)?)$/;

function typedUrl(invocation: Invocation): Record<string, unknown> {
  const [name = "", address] = invocation.words;
  if (address === undefined) {
    if (!isAddress(name)) throw usage(`${name} needs a URL, or -- and a command`);
    throw new CliError({
      message: "name is missing: a name for the server",
      next: `toolport add ${nameFromUrl(name)} ${shellWord(name)}`,
    });
  }
  if (!isAddress(address)) {
    throw new CliError({
      message: `${JSON.stringify(address)} is not a URL. Write a command after --`,
      next: `toolport add ${shellWord(name)} -- ${invocation.words.slice(1).map(shellWord).join(" ")}`,
    });
  }
  const headers = readHeaders(invocation);
  const transport = textOption(invocation, "transport");
  return { url: address, ...(transport && { transport }), ...(headers && { headers }) };
}

function typedCommand(invocation: Invocation, { cwd }: Pick<CommandContext, "cwd">): Record<string, unknown> {
  const [command = "", ...args] = invocation.passthrough;
  const env = readEnv(invocation);
  const given = textOption(invocation, "cwd");
  const isProject = flagOption(invocation, "project");
  // The configuration file is in another directory, so relative paths need a working directory.
  const namesFiles = args.some((arg) => /^[^-/].*[./\\]/.test(arg) && existsSync(resolve(cwd, arg)));
  const isRelative = args.some((arg) => RELATIVE.test(arg));
  const base = given === undefined ? cwd : resolve(cwd, given);
  const folder =
    given !== undefined
      ? base
      : isProject
        ? namesFiles || isRelative
          ? "."
          : undefined
        : namesFiles
          ? cwd
          : undefined;
  // The user's file is used from any folder, so its paths are absolute.
  const stored = isProject
    ? args
    : args.map((arg) => arg.replace(RELATIVE, (_, option = "", path) => `${option}${resolve(base, path)}`));
  return {
    command: isProject ? command : resolveCommand(cwd, command),
    ...(args.length > 0 && { args: stored }),
    ...(env && { env }),
    ...(folder !== undefined && { cwd: folder }),
  };
}

/** A variable may contain the whole URL. */
const isAddress = (text: string): boolean => /^(?:https?|wss?):\/\//i.test(text) || /^\$\{[^}]+\}/.test(text);

const usage = (message: string): CliError => new CliError({ message, next: "toolport add --help" });
