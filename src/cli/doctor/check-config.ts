/** Reports issues and warnings of the configuration files. */
import { ConfigError, type ConfigIssue } from "../../errors/config-error.js";
import type { LoadedConfig } from "../../node/load-config.js";
import type { CommandContext, WrittenServers } from "../command-context.js";
import { EXIT } from "../exit-codes.js";
import { plural } from "../plain-text.js";
import type { Finding } from "./finding.js";

const check = "config";

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
  // An unreadable file is reported even if only one server is checked.
  const concerns = ({ path }: ConfigIssue) =>
    server === undefined || path === "" || path.split(/[.[\]]/).includes(server);
  const issues = (config?.issues ?? unreadable).filter(concerns);
  const warnings = (config?.warnings ?? []).filter(concerns);
  const read = files.map((file): Finding => {
    const count = [...servers.values()].filter(({ source }) => source.file === file).length;
    return { check, status: "ok", message: `${file}: ${plural(count, "server")}` };
  });
  const found: Finding[] = [
    ...issues.map(
      (issue): Finding => ({
        check,
        status: "fail",
        message: placed(issue),
        next: issue.file === undefined ? "toolport add <name> <url>" : fixOf(issue),
        exitCode: EXIT.configuration,
      }),
    ),
    ...warnings.map(
      (issue): Finding => ({ check, status: "warn", message: placed(issue), next: fixOf(issue) }),
    ),
  ];
  if (servers.size === 0 && issues.length === 0)
    found.push({
      check,
      status: "warn",
      message: "No configuration file with servers was found for this project or user",
      next: "toolport add <name> <url>, or toolport import",
    });
  return [...read, ...found];
}

/** An issue without a line concerns the file itself. */
const fixOf = (issue: ConfigIssue): string =>
  issue.line === undefined ? `Check that ${issue.file} exists and can be read` : `Edit ${placeOf(issue)}`;

const placeOf = ({ file = "", line }: ConfigIssue): string =>
  `${file}${line === undefined ? "" : `:${line}`}`;

const placed = (issue: ConfigIssue): string =>
  [placeOf(issue), issue.path, issue.message].filter((part) => part !== "").join(": ");
