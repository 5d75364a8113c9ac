/** Claude Code: `.mcp.json` in a project, `~/.claude.json` for a user; GitHub's Copilot reads the former, too. */
import { isRecord } from "../../config/entry-reader.js";
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
    // Copilot's, in the file that both share.
    moveToolFilters(fields);
    moveTimeout(fields, "timeout", 1);
    moveOAuth(fields, "oauth");
    return fields.finish({
      title: "Claude Code",
      quiet: ["description", "alwaysLoad"],
      unsupported: {
        headersHelper:
          "names a program that makes headers, which is not run; give `headers` as a function in code instead",
      },
    });
  },
  disabledBy: (root, name) => {
    const disabled = root["disabledMcpServers"];
    return Array.isArray(disabled) && disabled.includes(name) ? "disabledMcpServers" : undefined;
  },
};

/** What `~/.claude.json` says about one project: the nearest folder above `folder` that it knows. */
export function findClaudeProject(root: unknown, folders: readonly string[]): string | undefined {
  const projects = isRecord(root) && isRecord(root["projects"]) ? root["projects"] : {};
  return folders.find((folder) => Object.hasOwn(projects, folder) && isRecord(projects[folder]));
}
