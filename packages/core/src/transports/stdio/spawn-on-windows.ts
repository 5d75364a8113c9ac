/**
 * Starts programs on Windows, where `npx` and similar commands are batch files that only `cmd.exe` can run. `cross-spawn`
 * builds the command line. Loaded on Windows only; tested against a table of command lines, not on Windows.
 */
import type { ChildProcess, SpawnOptions } from "node:child_process";
import { statSync } from "node:fs";
import { isAbsolute, resolve } from "node:path";
import crossSpawn from "cross-spawn";

type Environment = Readonly<Record<string, string | undefined>>;

/** @throws ENOENT if the program is missing, EINVAL if its batch file would misread the arguments */
export function spawnOnWindows(
  command: string,
  args: readonly string[],
  options: SpawnOptions & { readonly env: Environment },
): ChildProcess {
  const file = findProgram(command, options.env, String(options.cwd ?? ""));
  if (file === undefined) throw spawnError(`spawn ${command} ENOENT`, "ENOENT");
  if (/\.(?:cmd|bat)$/i.test(file) && !isSafeForBatch(args)) {
    throw spawnError("A batch file cannot take these arguments", "EINVAL");
  }
  return crossSpawn(file, args, options);
}

/**
 * Finds the program before `cross-spawn` does, which searches the working directory first: a project could contain a
 * malicious `npx.cmd`. A bare name is searched on PATH only.
 */
function findProgram(command: string, env: Environment, cwd: string): string | undefined {
  const endings = (variable(env, "PATHEXT") ?? ".COM;.EXE;.BAT;.CMD").split(";").filter(Boolean);
  const withEndings = endings.map((ending) => command + ending.toLowerCase());
  const names = command.includes(".") ? [command, ...withEndings] : [...withEndings, command];
  const folders = /[\\/:]/.test(command)
    ? [cwd]
    : (variable(env, "PATH") ?? "")
        .replaceAll('"', "")
        .split(";")
        .filter((folder) => isAbsolute(folder));
  return folders.flatMap((folder) => names.map((name) => resolve(folder, name))).find(isFile);
}

/** Variable names on Windows are case-insensitive. */
function variable(env: Environment, name: string): string | undefined {
  const key = Object.keys(env).find((candidate) => candidate.toUpperCase() === name);
  return key === undefined ? undefined : env[key];
}

/**
 * A batch file passes its arguments on as one text (`%*`), which `cmd.exe` parses again, without the escapes of the first
 * time. A quotation mark in an argument then ends the quotation, and an operator after it would run another command. A
 * line break ends the command line.
 */
function isSafeForBatch(args: readonly string[]): boolean {
  let isQuoted = false;
  for (const character of args.map((argument) => `"${argument}"`).join(" ")) {
    if (character === '"') isQuoted = !isQuoted;
    else if ("\0\r\n".includes(character)) return false;
    else if (!isQuoted && "&|<>()^".includes(character)) return false;
  }
  return true;
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
}

function spawnError(message: string, code: "ENOENT" | "EINVAL"): Error {
  return Object.assign(new Error(message), { code });
}
