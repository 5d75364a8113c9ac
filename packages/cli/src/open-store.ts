/** Opens the state of the command line: a SQLite file, or a JSON file if SQLite is not available. */
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { StateError } from "@toolport/base";
import { fileStore, loadSqliteDriver, memoryStore, type Store } from "@toolport/stores";
import { sqliteStore } from "@toolport/stores/sqlite";
import type { CommandContext, OpenedStore } from "./command.js";
import { configurationError } from "./errors.js";

/**
 * An existing JSON file stays in use after an update of Node, so that logins and consent are not lost.
 *
 * @param path undefined for state in memory
 */
export async function openStore(
  path: string | undefined,
  warn: (text: string) => void,
): Promise<OpenedStore> {
  if (path === undefined) return { store: memoryStore(), statePath: undefined, compact: async () => {} };
  const file = `${path.replace(/\.db$/, "")}.json`;
  const onWarning = ({ message }: { message: string }) => warn(message);
  const [hasDatabase, hasFile] = [existsSync(path), existsSync(file)];
  const missing = hasDatabase || !hasFile ? await driverProblem() : undefined;
  if (missing === undefined && (hasDatabase || !hasFile))
    return { store: sqliteStore(path, { onWarning }), statePath: path, compact: () => compact(path) };
  if (missing !== undefined && hasDatabase && !hasFile)
    warn(
      `${missing.what}, so Toolport cannot read the state in ${path} and starts with new state in ${file}. ${missing.next}`,
    );
  // Every write rewrites the whole JSON file: there is nothing to compact.
  return { store: fileStore(file, { onWarning }), statePath: file, compact: async () => {} };
}

/** Why SQLite is not available; undefined if it is. */
async function driverProblem(): Promise<StateError | undefined> {
  try {
    await loadSqliteDriver();
    return undefined;
  } catch (error) {
    if (error instanceof StateError) return error;
    throw error;
  }
}

/** Frees the unused pages of a SQLite file. */
async function compact(path: string): Promise<void> {
  const database = new (await loadSqliteDriver())(path);
  try {
    database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    database.exec("VACUUM");
    database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  } catch {
    // Another process is using the file. The next `gc` compacts it.
  } finally {
    database.close();
  }
}

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
export function statePath({ flag, isOff, env, cwd, ...machine }: StatePathInput): string | undefined {
  if (isOff) return undefined;
  if (flag !== undefined) return resolve(cwd, flag);
  const variable = env[STATE_VARIABLE];
  if (variable === STATE_OFF) return undefined;
  if (variable) return resolve(cwd, variable);
  return join(stateFolder(env, machine), "toolport", "state.db");
}

/** The path for the options and the environment of a command. */
export const statePathOf = ({ surroundings, text, flag }: CommandContext): string | undefined =>
  statePath({ ...surroundings, flag: text("state"), isOff: flag("no-state") });

function stateFolder(
  env: StatePathInput["env"],
  { platform = process.platform, home = homedir() }: Pick<StatePathInput, "platform" | "home">,
): string {
  const xdg = env["XDG_STATE_HOME"];
  if (xdg) return xdg;
  if (platform === "win32") return env["LOCALAPPDATA"] || join(home, "AppData", "Local");
  if (platform === "darwin") return join(home, "Library", "Application Support");
  return join(home, ".local", "state");
}

/** @param url `redis://…`, `rediss://…`, `postgres://…` or `postgresql://…`. It may contain a password, so no message shows it */
export async function openSharedStore(url: string): Promise<Store> {
  const [scheme] = url.split(":", 1);
  switch (scheme) {
    case "redis":
    case "rediss":
      return (await import("@toolport/stores/redis")).redisStore(url);
    case "postgres":
    case "postgresql":
      return (await import("@toolport/stores/postgres")).postgresStore(url);
    default:
      throw configurationError(
        "USAGE",
        "--store must be the URL of a Redis or a PostgreSQL: redis://… or postgres://…",
        "toolport serve --help",
      );
  }
}
