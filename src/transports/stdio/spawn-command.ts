/** What to really start for a configured command: itself, or on Windows what its extension asks for. */
import { win32 } from "node:path";

export interface SpawnCommandInput {
  readonly command: string;
  readonly args: readonly string[];
  readonly platform: NodeJS.Platform;
  /** Environment of the child; on Windows its `PATH`, `PATHEXT` and `ComSpec` count. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string | undefined;
  readonly isFile: (path: string) => boolean;
}

export interface SpawnCommand {
  readonly command: string;
  readonly args: readonly string[];
  /** The arguments are quoted already. */
  readonly verbatim: boolean;
}

/**
 * POSIX: the command as it is. Windows: `npx` and its like are batch files, which only `cmd.exe` can run; everything else
 * is started without a shell.
 *
 * The Windows half is tested as a table only, not on Windows.
 */
export function resolveSpawnCommand(input: SpawnCommandInput): SpawnCommand {
  const asIs = { command: input.command, args: input.args, verbatim: false };
  if (input.platform !== "win32") return asIs;
  const file = findOnWindows(input);
  if (file === undefined) return asIs;
  if (!/\.(?:cmd|bat)$/i.test(file)) return { ...asIs, command: file };
  const line = [`"${file}"`, ...input.args.map(quoteForBatch)].join(" ");
  return {
    command: variable(input.env, "COMSPEC") ?? "cmd.exe",
    // /d: no AutoRun, /v:OFF: no !x!, /s: take off just the outer quotation marks.
    args: ["/e:ON", "/v:OFF", "/d", "/s", "/c", `"${line}"`],
    verbatim: true,
  };
}

/** Windows does not tell `Path` from `PATH`. */
function variable(env: SpawnCommandInput["env"], name: string): string | undefined {
  const key = Object.keys(env).find((candidate) => candidate.toUpperCase() === name);
  return key === undefined ? undefined : env[key];
}

function findOnWindows({ command, env, cwd, isFile }: SpawnCommandInput): string | undefined {
  const endings = (variable(env, "PATHEXT") ?? ".COM;.EXE;.BAT;.CMD").split(";").filter(Boolean);
  const hasEnding = endings.some((ending) => command.toLowerCase().endsWith(ending.toLowerCase()));
  const names = hasEnding ? [command] : endings.map((ending) => command + ending.toLowerCase());
  // A bare name is never looked up in the working directory: that is how a planted `npx.cmd` gets run.
  const folders = /[\\/:]/.test(command)
    ? [cwd ?? ""]
    : (variable(env, "PATH") ?? "").split(";").filter(Boolean);
  for (const folder of folders) {
    for (const name of names) {
      const path = folder === "" ? name : win32.resolve(folder.replaceAll('"', ""), name);
      if (isFile(path)) return path;
    }
  }
  return undefined;
}

/**
 * One argument for a batch file. `cmd.exe` reads it first, the program's own parser second: quotation marks are doubled,
 * backslashes before them too, and a `%` is cut off from what follows by an empty substring of `%cd%`, so that no
 * variable is expanded.
 */
function quoteForBatch(argument: string): string {
  if (/[\0\r\n]/.test(argument)) {
    throw Object.assign(new Error("A batch file takes no argument with a line break"), { code: "EINVAL" });
  }
  const escaped = argument
    .replace(/(\\*)"/g, '$1$1""')
    .replace(/\\+$/, "$&$&")
    .replaceAll("%", "%%cd:~,%");
  return `"${escaped}"`;
}
