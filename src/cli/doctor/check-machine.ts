/** The result of a check, and the checks of this machine: Node, the state, the configuration files. */
import { randomBytes } from "node:crypto";
import { toToolportError } from "../../errors/to-toolport-error.js";
import { ConfigError, type ConfigIssue, StateError } from "../../errors/toolport-error.js";
import type { LoadedConfig } from "../../node/load-config.js";
import type { Store } from "../../state/store.js";
import type { CommandContext, WrittenServers } from "../command.js";
import { EXIT } from "../errors.js";
import { plural } from "../plain-text.js";

export type FindingStatus = "ok" | "warn" | "fail" | "skip";

export interface Finding {
  /** Name of the check: `node`, `config`, `command` … */
  readonly check: string;
  readonly server?: string | undefined;
  readonly status: FindingStatus;
  readonly message: string;
  /** How to fix it: a command or a sentence. */
  readonly next?: string | undefined;
  /** Exit code for a failure. @default 1 */
  readonly exitCode?: number | undefined;
}

/** Makes the findings of one check. */
export const findingsOf = (check: string, server?: string) => ({
  ok: (message: string): Finding => ({ check, server, status: "ok", message }),
  warn: (message: string, next?: string): Finding => ({ check, server, status: "warn", message, next }),
  fail: (message: string, next?: string, exitCode?: number): Finding => ({
    check,
    server,
    status: "fail",
    message,
    next,
    exitCode,
  }),
  skip: (message: string, next?: string): Finding => ({ check, server, status: "skip", message, next }),
});

const OLDEST: readonly [number, number] = [20, 19];

export function checkNode(version: string = process.versions.node): Finding {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const isOld = major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1]);
  const { ok, fail } = findingsOf("node");
  if (!isOld) return ok(`Node ${version}`);
  return fail(
    `Node ${version} is too old: ${OLDEST.join(".")} or later is required`,
    "Install a newer Node: https://nodejs.org",
    EXIT.other,
  );
}

/** Reports why the store may lose records that it has acknowledged, such as suspended calls. */
export async function checkDurability(store: Pick<Store, "durabilityRisk">): Promise<Finding[]> {
  const { warn } = findingsOf("state");
  try {
    const risk = await store.durabilityRisk?.();
    // State in memory is reported by `checkStore`.
    if (risk === undefined || risk.isExpected) return [];
    return [warn(`Suspended calls may be lost: ${risk.what}`, risk.next)];
  } catch (error) {
    const { what, next = "toolport state path" } = toToolportError(error);
    return [warn(`Whether the store is durable is unknown: ${what}`, next)];
  }
}

/** Opens the state, which migrates its tables, and writes, reads and deletes an encrypted record. */
export async function checkStore(context: CommandContext): Promise<Finding> {
  const { ok, warn, fail } = findingsOf("state");
  try {
    const { store, statePath } = await context.openStore();
    const key = `doctor/${randomBytes(8).toString("hex")}`;
    await store.put(key, { here: true }, { secret: true, ttlMs: 60_000 });
    const found = await store.get(key);
    await store.delete(key);
    const count = (await store.list("")).length;
    if (found?.sealed !== true && statePath !== undefined)
      throw new StateError({ code: "CORRUPT", what: "A record that was just written is not encrypted" });
    if (statePath !== undefined) return ok(`${statePath}: readable, writable, up to date, ${count} records`);
    return warn(
      "State is in memory: logins and lists are lost at the end of every command",
      "Remove --no-state and TOOLPORT_STATE=off",
    );
  } catch (error) {
    const { what, next = "toolport state path" } = toToolportError(error);
    return fail(what, next, EXIT.other);
  }
}

/** Reads the servers of the files. An unreadable file becomes an issue. */
export async function readFiles(context: CommandContext): Promise<WrittenServers> {
  try {
    return await context.readServers();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return { servers: new Map(), files: [], issues: error.issues };
  }
}

/** @param config issues and warnings that appeared when the servers were expanded */
export function checkConfig(
  { files, servers, issues: unreadable }: WrittenServers,
  config: Pick<LoadedConfig, "issues" | "warnings"> | undefined,
  server: string | undefined,
): Finding[] {
  const { ok, warn, fail } = findingsOf("config");
  // An unreadable file is reported even if only one server is checked.
  const concerns = ({ path }: ConfigIssue) =>
    server === undefined || path === "" || path.split(/[.[\]]/).includes(server);
  const issues = (config?.issues ?? unreadable).filter(concerns);
  const warnings = (config?.warnings ?? []).filter(concerns);
  const countIn = (file: string) => [...servers.values()].filter(({ source }) => source.file === file).length;
  const found = [
    ...files.map((file) => ok(`${file}: ${plural(countIn(file), "server")}`)),
    ...issues.map((issue) =>
      fail(
        placed(issue),
        issue.file === undefined ? "toolport add <name> <url>" : fixOf(issue),
        EXIT.configuration,
      ),
    ),
    ...warnings.map((issue) => warn(placed(issue), fixOf(issue))),
  ];
  if (servers.size > 0 || issues.length > 0) return found;
  const none = warn(
    "No configuration file with servers was found for this project or user",
    "toolport add <name> <url>, or toolport import",
  );
  return [...found, none];
}

/** An issue without a line concerns the file itself. */
const fixOf = (issue: ConfigIssue): string =>
  issue.line === undefined ? `Check that ${issue.file} exists and can be read` : `Edit ${placeOf(issue)}`;

const placeOf = ({ file = "", line }: ConfigIssue): string =>
  `${file}${line === undefined ? "" : `:${line}`}`;

const placed = (issue: ConfigIssue): string =>
  [placeOf(issue), issue.path, issue.message].filter((part) => part !== "").join(": ");
