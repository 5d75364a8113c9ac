/** GitHub's Copilot CLI: `mcp-config.json` in its own directory (and `.mcp.json`, which it shares with Claude Code). */
import type { Dialect } from "./dialect.js";
import { moveOAuth } from "./oauth-fields.js";
import { moveTimeout, moveToolFilters, usualFields } from "./shared-fields.js";

export const copilotCli: Dialect = {
  kind: "copilot-cli",
  title: "Copilot CLI",
  containers: [["mcpServers"]],
  tellingFields: ["oauthClientId", "isDefaultServer"],
  readEntry: (raw) => {
    const fields = usualFields(raw);
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
