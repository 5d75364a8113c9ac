/** Windsurf: `mcp_config.json`, with `serverUrl` for the address. */
import type { Dialect } from "./dialect.js";
import { EntryFields } from "./entry-fields.js";
import { moveAddress, moveEnabled, moveProcess, moveToolFilters, moveType } from "./shared-fields.js";

export const windsurf: Dialect = {
  kind: "windsurf",
  title: "Windsurf",
  containers: [["mcpServers"]],
  tellingFields: ["serverUrl"],
  readEntry: (raw) => {
    const fields = new EntryFields(raw);
    moveType(fields);
    moveProcess(fields);
    moveAddress(fields);
    moveEnabled(fields);
    moveToolFilters(fields);
    return fields.finish({ title: "Windsurf", quiet: ["registry", "serverName"] });
  },
};
