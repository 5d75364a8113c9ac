/** GitHub's Copilot CLI: `mcp-config.json` in its own directory (and `.mcp.json`, which it shares with Claude Code). */
import type { Dialect } from "./dialect.js";
import { EntryFields } from "./entry-fields.js";
import { moveOAuth } from "./oauth-fields.js";
import {
  moveAddress,
  moveEnabled,
  moveProcess,
  moveTimeout,
  moveToolFilters,
  moveType,
} from "./shared-fields.js";

export const copilotCli: Dialect = {
  kind: "copilot-cli",
  title: "Copilot CLI",
  containers: [["mcpServers"]],
  tellingFields: ["oauthClientId", "isDefaultServer"],
  readEntry: (raw) => {
    const fields = new EntryFields(raw);
    moveType(fields);
    moveProcess(fields);
    moveAddress(fields);
    moveEnabled(fields);
    moveToolFilters(fields);
    moveTimeout(fields, "timeout", 1);
    moveOAuth(fields, "oauth");
    const clientId = fields.take("oauthClientId");
    if (clientId !== undefined) fields.put("oauth", { clientId }, ["oauthClientId"]);
    return fields.finish({
      title: "Copilot CLI",
      quiet: ["isDefaultServer", "oauthPublicClient", "filterMapping", "displayName"],
    });
  },
};
