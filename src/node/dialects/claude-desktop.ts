/** Claude Desktop: local processes in `claude_desktop_config.json`; remote servers are kept elsewhere by that program. */
import type { Dialect } from "./dialect.js";
import { usualFields } from "./shared-fields.js";

export const claudeDesktop: Dialect = {
  kind: "claude-desktop",
  title: "Claude Desktop",
  containers: [["mcpServers"]],
  isSettingsFile: true,
  readEntry: (raw) => {
    const fields = usualFields(raw);
    return fields.finish({ title: "Claude Desktop", quiet: ["description"] });
  },
};
