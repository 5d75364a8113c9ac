/** Determines the path of the state file. */
import { homedir } from "node:os";
import { join, resolve } from "node:path";

interface StatePathInput {
  /** `--state`. */
  readonly flag: string | undefined;
  /** `--no-state`. */
  readonly isOff: boolean;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** @default the current platform */
  readonly platform?: NodeJS.Platform;
  /** @default the user's home directory */
  readonly home?: string;
}

export const STATE_VARIABLE = "TOOLPORT_STATE";
/** `TOOLPORT_STATE=off` is the same as `--no-state`. */
export const STATE_OFF = "off";

/** `--state`, else `TOOLPORT_STATE`, else a file in the user's state directory. Undefined: state in memory. */
export function statePath({
  flag,
  isOff,
  env,
  cwd,
  platform = process.platform,
  home = homedir(),
}: StatePathInput): string | undefined {
  if (isOff) return undefined;
  if (flag !== undefined) return resolve(cwd, flag);
  const variable = env[STATE_VARIABLE];
  if (variable === STATE_OFF) return undefined;
  if (variable) return resolve(cwd, variable);
  return join(stateFolder({ env, platform, home }), "toolport", "state.db");
}

function stateFolder({
  env,
  platform,
  home,
}: Required<Pick<StatePathInput, "env" | "platform" | "home">>): string {
  const xdg = env["XDG_STATE_HOME"];
  if (xdg) return xdg;
  if (platform === "win32") return env["LOCALAPPDATA"] || join(home, "AppData", "Local");
  if (platform === "darwin") return join(home, "Library", "Application Support");
  return join(home, ".local", "state");
}
