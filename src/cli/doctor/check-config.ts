/** Checks the files: that they can be read, and everything they say that is wrong or may surprise. */
import { ConfigError, type ConfigIssue } from "../../errors/config-error.js";
import type { LoadedConfig } from "../../node/load-config.js";
import { EXIT } from "../exit-codes.js";
import type { Shell } from "../shell.js";
import type { Finding } from "./finding.js";

const check = "config";

/** What the files hold, and what was found about them. */
export async function checkConfig(
  shell: Shell,
  server: string | undefined,
): Promise<{ config: LoadedConfig; findings: Finding[] }> {
  try {
    const config = await shell.loadServers();
    return { config, findings: findingsOf(config, server) };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const config = { mcpServers: {}, files: [], sources: {}, issues: [...error.issues], warnings: [] };
    return { config, findings: findingsOf(config, server) };
  }
}

function findingsOf(config: LoadedConfig, server: string | undefined): Finding[] {
  const { files, mcpServers, sources } = config;
  // Whoever asks about one server still wants to know of a file that cannot be read at all.
  const concerns = ({ path }: ConfigIssue) =>
    server === undefined || path === "" || path.split(/[.[\]]/).includes(server);
  const issues = config.issues.filter(concerns);
  const warnings = config.warnings.filter(concerns);
  const read = files.map((file): Finding => {
    const count = Object.values(sources).filter((source) => source.file === file).length;
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
  if (Object.keys(mcpServers).length === 0 && issues.length === 0)
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
