/** The environment a server process gets. */

export interface SpawnEnvironmentInput {
  /** Variables of this process that are safe for every server. */
  readonly defaults: Readonly<Record<string, string>>;
  /** All variables of this process, where the server is to get them. */
  readonly inherited?: NodeJS.ProcessEnv | undefined;
  /** The server's own, which win. */
  readonly own: Readonly<Record<string, string>>;
  readonly platform: NodeJS.Platform;
}

/** Merges them; on Windows, where `Path` and `PATH` are one variable, the later spelling replaces the earlier. */
export function mergeEnvironment({
  defaults,
  inherited,
  own,
  platform,
}: SpawnEnvironmentInput): Record<string, string> {
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

/** The SDK's list of safe variables (`PATH`, `HOME`, …), with the values of this process. */
export async function loadDefaultEnvironment(): Promise<Record<string, string>> {
  const { getDefaultEnvironment } = await import("@modelcontextprotocol/client/stdio");
  return getDefaultEnvironment();
}
