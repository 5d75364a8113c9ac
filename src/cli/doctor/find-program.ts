/** Looks for a program as the operating system would. */
import { accessSync, constants, statSync } from "node:fs";
import { delimiter, isAbsolute, join, resolve } from "node:path";

export interface ProgramSearch {
  readonly command: string;
  readonly cwd: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** @default this machine's */
  readonly platform?: NodeJS.Platform;
}

/** The file that would be run; undefined if there is none, or it may not be run. */
export function findProgram({
  command,
  cwd = "",
  env,
  platform = process.platform,
}: ProgramSearch): string | undefined {
  const isPath = /[\\/]/.test(command);
  const path = Object.entries(env).find(([name]) => name.toUpperCase() === "PATH")?.[1] ?? "";
  const folders = isPath ? [isAbsolute(command) ? "" : resolve(cwd)] : path.split(delimiter).filter(Boolean);
  const endings = platform === "win32" ? ["", ...(env["PATHEXT"] ?? ".COM;.EXE;.BAT;.CMD").split(";")] : [""];
  return folders
    .flatMap((folder) =>
      endings.map((ending) => (folder === "" ? command + ending : join(folder, command + ending))),
    )
    .find(isRunnable);
}

function isRunnable(file: string): boolean {
  try {
    if (!statSync(file).isFile()) return false;
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

export function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}
