/** The environment variables of a server process. */
import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { ConnectionError } from "@toolport/base";

/**
 * Merges the variables of this process that are safe for every server, or all if the server inherits them, with the server's own. On
 * Windows, where `Path` and `PATH` are the same variable, the later spelling replaces the earlier.
 */
export function mergeEnvironment({
  defaults,
  inherited,
  own,
  platform,
}: {
  readonly defaults: Readonly<Record<string, string>>;
  readonly inherited?: NodeJS.ProcessEnv | undefined;
  readonly own: Readonly<Record<string, string>>;
  readonly platform: NodeJS.Platform;
}): Record<string, string> {
  const merged: Record<string, string> = {};
  for (const source of [inherited ?? defaults, own]) {
    for (const [name, value] of Object.entries(source)) {
      if (value === undefined) continue;
      if (platform === "win32") removeOtherSpellings(merged, name);
      merged[name] = value;
    }
  }
  return merged;
}

function removeOtherSpellings(env: Record<string, string>, name: string): void {
  for (const other of Object.keys(env)) {
    if (other !== name && other.toUpperCase() === name.toUpperCase()) delete env[other];
  }
}

/**
 * Safe for every server: the same list as in the SDK (a test compares them). It is repeated here because loading the SDK
 * opens dozens of files, and an import that failed for lack of descriptors cannot be repeated.
 */
const SAFE_VARIABLES: Readonly<Record<"posix" | "win32", readonly string[]>> = {
  posix: ["HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"],
  win32: [
    "APPDATA",
    "COMSPEC",
    "HOMEDRIVE",
    "HOMEPATH",
    "LOCALAPPDATA",
    "PATH",
    "PATHEXT",
    "PROCESSOR_ARCHITECTURE",
    "PROGRAMDATA",
    "PROGRAMFILES",
    "PROGRAMFILES(X86)",
    "PROGRAMW6432",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "TEMP",
    "USERNAME",
    "USERPROFILE",
    "WINDIR",
  ],
};

/**
 * Proxies and certificates: without them a process cannot reach the internet behind a proxy or a private certificate
 * authority. None of them runs code.
 */
const NETWORK_VARIABLES: readonly string[] = [
  ...["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"].flatMap((name) => [name, name.toLowerCase()]),
  ...["NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE"],
];

/** The variables for every server: the safe ones (`PATH`, `HOME`, …), and those for proxies and certificates. */
export function safeEnvironment(
  env: NodeJS.ProcessEnv = process.env,
  platform: NodeJS.Platform = process.platform,
): Record<string, string> {
  const safe: Record<string, string> = {};
  for (const name of [...SAFE_VARIABLES[platform === "win32" ? "win32" : "posix"], ...NETWORK_VARIABLES]) {
    const value = env[name];
    // In a CGI program the `Proxy` header of a request sets this variable (httpoxy).
    if (name === "HTTP_PROXY" && env["REQUEST_METHOD"] !== undefined) continue;
    // Such a value is a function exported by an old bash.
    if (value !== undefined && !value.startsWith("()")) safe[name] = value;
  }
  return safe;
}

/** Set by `toolport serve`: the configurations of the programs above a process. Such a program finds by it that it starts itself. */
export const SERVE_CHAIN_VARIABLE = "TOOLPORT_SERVE_CHAIN";

/** Passed to every server, whatever its entry says. */
export function serveChain(env: NodeJS.ProcessEnv = process.env): Record<string, string> {
  const chain = env[SERVE_CHAIN_VARIABLE];
  return chain === undefined ? {} : { [SERVE_CHAIN_VARIABLE]: chain };
}

interface SpawnAttempt {
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
