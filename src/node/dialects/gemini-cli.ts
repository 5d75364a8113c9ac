/** Gemini CLI: `mcpServers` in `settings.json`. `url` is legacy SSE, `httpUrl` is Streamable HTTP. */
import { isRecord } from "../../util/is-record.js";
import type { Dialect } from "./dialect.js";
import { EntryFields } from "./entry-fields.js";
import { moveOAuth } from "./oauth-fields.js";
import { moveAddress, moveEnabled, moveProcess, moveTimeout, moveToolFilters } from "./shared-fields.js";

export const geminiCli: Dialect = {
  kind: "gemini-cli",
  title: "Gemini CLI",
  containers: [["mcpServers"]],
  entryMarkers: ["httpUrl", "authProviderType"],
  isSettingsFile: true,
  bareVariables: true,
  readEntry: (raw) => {
    const fields = new EntryFields(raw);
    const type = fields.take("type");
    if (raw["httpUrl"] !== undefined) {
      fields.put("type", "http", ["httpUrl"]);
      fields.move("httpUrl", "url");
    } else if (raw["url"] !== undefined)
      fields.put("type", type ?? "sse", [type === undefined ? "url" : "type"]);
    moveProcess(fields);
    moveAddress(fields);
    moveEnabled(fields);
    moveToolFilters(fields);
    moveTimeout(fields, "timeout", 1);
    moveOAuth(fields, "oauth");
    if (raw["trust"] === false) fields.take("trust");
    return fields.finish({
      title: "Gemini CLI",
      quiet: ["description", "extension"],
      unsupported: {
        trust: "is not supported: set `approve` of the port to decide which calls need approval",
        authProviderType: "is not supported; use `oauth` or `headers`",
        tcp: "is not a supported transport",
      },
    });
  },
  disabledBy: (root, name) => {
    const mcp = isRecord(root["mcp"]) ? root["mcp"] : {};
    const [allowed, excluded] = [mcp["allowed"], mcp["excluded"]];
    if (Array.isArray(excluded) && excluded.includes(name)) return "mcp.excluded";
    return Array.isArray(allowed) && !allowed.includes(name) ? "mcp.allowed" : undefined;
  },
};
