/** Windsurf: `mcp_config.json`, with `serverUrl` for the address. */
import type { Dialect } from "./dialect.js";
import { moveToolFilters, usualFields } from "./shared-fields.js";

export const windsurf: Dialect = {
  kind: "windsurf",
  title: "Windsurf",
  containers: [["mcpServers"]],
  tellingFields: ["serverUrl"],
  readEntry: (raw) => {
    const fields = usualFields(raw);
    moveToolFilters(fields);
    return fields.finish({ title: "Windsurf", quiet: ["registry", "serverName"] });
  },
};
