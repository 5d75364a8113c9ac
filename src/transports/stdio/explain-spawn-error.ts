/** Explains why a process could not be started, by system error code and by what is on disk. */
import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { ConnectionError } from "../../errors/toolport-error.js";

export interface SpawnAttempt {
  readonly server: string;
  readonly command: string;
  readonly cwd: string | undefined;
}

/** What happened, and what to do next. */
export interface Explanation {
  readonly what: string;
  readonly next: string;
}

/** Out of descriptors, processes or memory: a later start may succeed. */
const TRANSIENT = new Set(["EMFILE", "ENFILE", "EAGAIN", "ENOMEM"]);

/** Creates an error that names the command and says what to check. */
export async function explainSpawnError(attempt: SpawnAttempt, cause: unknown): Promise<ConnectionError> {
  const errno = errnoOf(cause);
  const { what, next } = (await checkWorkingDirectory(attempt)) ?? (await reasonFor(attempt, errno));
  return new ConnectionError({
    code: "SPAWN_FAILED",
    what,
    next,
    server: attempt.server,
    errno,
    retryable: errno !== undefined && TRANSIENT.has(errno),
    outcome: "unsent",
    cause,
  });
}

/** The system reports a missing working directory as if the command were missing. */
async function checkWorkingDirectory({ cwd }: SpawnAttempt): Promise<Explanation | undefined> {
  if (cwd === undefined) return undefined;
  const kind = await kindOf(cwd);
  if (kind === "folder") return undefined;
  const next = 'Correct "cwd" in the server\'s configuration, or create the directory';
  if (kind === "nothing") return { what: `The working directory "${cwd}" does not exist`, next };
  return { what: `The working directory "${cwd}" is not a directory`, next };
}

async function reasonFor({ command, cwd }: SpawnAttempt, errno: string | undefined): Promise<Explanation> {
  const isPath = /[\\/]/.test(command);
  const kind = isPath ? await kindOf(resolve(cwd ?? "", command)) : "nothing";
  if (kind === "folder") {
    return {
      what: `"${command}" is a directory, not a program`,
      next: 'Correct "command" in the configuration',
    };
  }
  if (errno === "ENOENT" && kind === "file") {
    return {
      what: `"${command}" exists, but the interpreter named in its first line does not`,
      next: "Install that interpreter, or correct the line",
    };
  }
  if (errno === "ENOENT" && /\S\s+\S/.test(command)) {
    const [program, ...args] = command.trim().split(/\s+/);
    return {
      what: `The program "${command}" was not found: "command" is one program, without its arguments`,
      next: `Split it: "command": ${JSON.stringify(program)}, "args": ${JSON.stringify(args)}`,
    };
  }
  if (errno === "ENOENT" || errno === "ENOTDIR") {
    return {
      what: `The program "${command}" was not found`,
      next: isPath ? "Check the path" : "Install it, check that it is on PATH, or give its full path",
    };
  }
  if (errno === "EACCES" || errno === "EPERM") {
    return { what: `"${command}" is not executable (${errno})`, next: "Check its permissions (chmod +x)" };
  }
  if (errno === "EMFILE" || errno === "ENFILE") {
    return {
      what: `"${command}" could not be started: too many files are open (${errno})`,
      next: "Raise the limit (ulimit -n), or connect fewer servers at once",
    };
  }
  if (errno === "EINVAL" && process.platform === "win32") {
    return {
      what: `"${command}" is a batch file, which cannot receive these arguments`,
      next: 'Remove line breaks, and quotation marks with &, |, <, >, ^ or brackets from "args", or start the program behind the batch file',
    };
  }
  return {
    what: `"${command}" could not be started${errno === undefined ? "" : ` (${errno})`}`,
    next: "Check the command and its arguments",
  };
}

async function kindOf(path: string): Promise<"folder" | "file" | "nothing"> {
  try {
    return (await stat(path)).isDirectory() ? "folder" : "file";
  } catch {
    return "nothing";
  }
}

function errnoOf(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null | undefined)?.code;
  return typeof code === "string" ? code : undefined;
}
