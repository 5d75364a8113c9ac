/** MCP Inspector: `~/.mcp-inspector/mcp.json`, with settings of a session beside each server. */
import type { Dialect } from "./dialect.js";
import { moveOAuth } from "./oauth-fields.js";
import { moveTimeout, usualFields } from "./shared-fields.js";

export const inspector: Dialect = {
  kind: "inspector",
  title: "Inspector",
  containers: [["mcpServers"]],
  tellingFields: ["protocolEra", "requestTimeout", "connectionTimeout", "taskTtl", "paginatedLists"],
  readEntry: (raw) => {
    const fields = usualFields(raw);
    moveTimeout(fields, "requestTimeout", 1);
    moveOAuth(fields, "oauth");
    const era = fields.take("protocolEra");
    if (era === "legacy") fields.put("protocol", "legacy", ["protocolEra"]);
    else if (era !== undefined && era !== "modern" && era !== "auto") {
      fields.warn(["protocolEra"], "is not an era that is known; which one to speak is found out");
    }
    return fields.finish({
      title: "Inspector",
      quiet: ["metadata", "autoRefreshOnListChanged", "paginatedLists"],
      unsupported: {
        roots: "are not taken over; give `roots` to the port",
        connectionTimeout: "is not taken over; the limit for connecting is `connectTimeoutMs` of the port",
        taskTtl: "is not taken over",
      },
    });
  },
};
