/** Claude Code: `.mcp.json` in a project, `~/.claude.json` for a user. GitHub Copilot also reads `.mcp.json`. */
import { isRecord } from "../../util/is-record.js";
import type { Dialect } from "./dialect.js";
import { moveOAuth } from "./oauth-fields.js";
import { moveTimeout, moveToolFilters, usualFields } from "./shared-fields.js";

export const claudeCode: Dialect = {
  kind: "claude-code",
  title: "Claude Code",
  containers: [["mcpServers"]],
  entryMarkers: ["headersHelper"],
  rootMarkers: ["projects", "numStartups"],
  isSettingsFile: true,
  readEntry: (raw) => {
    const fields = usualFields(raw);
    // Fields of Copilot, which shares the file.
    moveToolFilters(fields);
    moveTimeout(fields, "timeout", 1);
    moveOAuth(fields, "oauth");
    return fields.finish({
      title: "Claude Code",
      quiet: ["description", "alwaysLoad"],
      unsupported: {
        headersHelper:
          "names a program that creates headers, which Toolport does not run; pass `headers` as a function in code instead",
      },
    });
  },
  disabledBy: (root, name) => {
    const disabled = root["disabledMcpServers"];
    return Array.isArray(disabled) && disabled.includes(name) ? "disabledMcpServers" : undefined;
  },
};

/** The nearest directory that `~/.claude.json` has a project section for. */
export function findClaudeProject(root: unknown, folders: readonly string[]): string | undefined {
  const projects = isRecord(root) && isRecord(root["projects"]) ? root["projects"] : {};
  return folders.find((folder) => Object.hasOwn(projects, folder) && isRecord(projects[folder]));
}
