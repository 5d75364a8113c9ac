/** Checks the files: that they can be read, and everything they say that is wrong or may surprise. */
import { ConfigError, type ConfigIssue } from "../../errors/config-error.js";
import type { LoadedConfig } from "../../node/load-config.js";
import { EXIT } from "../exit-codes.js";
import type { Shell, WrittenServers } from "../shell.js";
import type { Finding } from "./finding.js";

const check = "config";

/** The servers of the files as they are written; a file that cannot be read is reported like any other problem. */
export async function readFiles(shell: Shell): Promise<WrittenServers> {
  try {
    return await shell.readServers();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return { servers: new Map(), files: [], issues: error.issues };
  }
}

/** What was found about the files. `config`: what showed when their servers were expanded. */
export function checkConfig(
  { files, servers, issues: unreadable }: WrittenServers,
  config: Pick<LoadedConfig, "issues" | "warnings"> | undefined,
  server: string | undefined,
): Finding[] {
  // Whoever asks about one server still wants to know of a file that cannot be read at all.
  const concerns = ({ path }: ConfigIssue) =>
    server === undefined || path === "" || path.split(/[.[\]]/).includes(server);
  const issues = (config?.issues ?? unreadable).filter(concerns);
  const warnings = (config?.warnings ?? []).filter(concerns);
  const read = files.map((file): Finding => {
    const count = [...servers.values()].filter(({ source }) => source.file === file).length;
    return { check, status: "ok", message: `${file}: ${count} servers` };
  });
  const found: Finding[] = [
    ...issues.map(
      (issue): Finding => ({
        check,
        status: "fail",
        message: placed(issue),
        next: issue.file === undefined ? "toolport add <name> <url>" : `Edit ${placeOf(issue)}`,
        exitCode: EXIT.configuration,
      }),
    ),
    ...warnings.map(
      (issue): Finding => ({ check, status: "warn", message: placed(issue), next: `Edit ${placeOf(issue)}` }),
    ),
  ];
  if (servers.size === 0 && issues.length === 0)
    found.push({
      check,
      status: "warn",
      message: "There is no file with servers for this project or this user",
      next: "toolport add <name> <url>, or toolport import",
    });
  return [...read, ...found];
}

const placeOf = ({ file = "", line }: ConfigIssue): string =>
  `${file}${line === undefined ? "" : `:${line}`}`;

const placed = (issue: ConfigIssue): string =>
  [placeOf(issue), issue.path, issue.message].filter((part) => part !== "").join(": ");
