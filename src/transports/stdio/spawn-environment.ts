/** The environment variables of a server process. */

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
