/** All dialects, in the order of detection for files with an unknown name; simple dialects are defined here. */

import { ENTRY_KEYS } from "../../config/entry-options.js";
import { claudeCode } from "./claude-code.js";
import { cline } from "./cline.js";
import { codex } from "./codex.js";
import type { Dialect, DialectKind } from "./dialect.js";
import { EntryFields } from "./entry-fields.js";
import { geminiCli } from "./gemini-cli.js";
import { langchain } from "./langchain.js";
import { mcporter } from "./mcporter.js";
import { moveOAuth } from "./oauth-fields.js";
import { opencode } from "./opencode.js";
import { moveOwnFields, moveTimeout, moveToolFilters, usualFields } from "./shared-fields.js";
import { vscode } from "./vscode.js";
import { zed } from "./zed.js";

const toolport: Dialect = {
  kind: "toolport",
  title: "Toolport",
  containers: [["mcpServers"]],
  readEntry: (raw) => {
    const fields = new EntryFields(raw);
    moveOwnFields(fields);
    // Pass unknown fields on: the validation of the entry reports them.
    for (const key of fields.names) fields.move(key);
    return fields.finish({ title: "Toolport" });
  },
};

const generic: Dialect = {
  kind: "generic",
  title: "this kind",
  containers: [["mcpServers"], ["servers"], ["context_servers"], ["mcp"], ["mcp_servers"]],
  readEntry: (raw) => {
    const fields = new EntryFields(raw);
    moveOwnFields(fields);
    moveTimeout(fields, "timeout", 1);
    for (const key of fields.names) if (ENTRY_KEYS.includes(key)) fields.move(key);
    return fields.finish({ title: "this kind", quiet: ["description", "name"] });
  },
};

const claudeDesktop: Dialect = {
  kind: "claude-desktop",
  title: "Claude Desktop",
  containers: [["mcpServers"]],
  isSettingsFile: true,
  readEntry: (raw) => {
    const fields = usualFields(raw);
    return fields.finish({ title: "Claude Desktop", quiet: ["description"] });
  },
};

const cursor: Dialect = {
  kind: "cursor",
  title: "Cursor",
  containers: [["mcpServers"]],
  readEntry: (raw) => {
    const fields = usualFields(raw);
    moveOAuth(fields, "auth");
    return fields.finish({ title: "Cursor", quiet: ["name", "description"] });
  },
};

const windsurf: Dialect = {
  kind: "windsurf",
  title: "Windsurf",
  containers: [["mcpServers"]],
  entryMarkers: ["serverUrl"],
  readEntry: (raw) => {
    const fields = usualFields(raw);
    moveToolFilters(fields);
    return fields.finish({ title: "Windsurf", quiet: ["registry", "serverName"] });
  },
};

const copilotCli: Dialect = {
  kind: "copilot-cli",
  title: "Copilot CLI",
  containers: [["mcpServers"]],
  entryMarkers: ["oauthClientId", "isDefaultServer"],
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

const inspector: Dialect = {
  kind: "inspector",
  title: "Inspector",
  containers: [["mcpServers"]],
  entryMarkers: ["protocolEra", "requestTimeout", "connectionTimeout", "taskTtl", "paginatedLists"],
  readEntry: (raw) => {
    const fields = usualFields(raw);
    moveTimeout(fields, "requestTimeout", 1);
    moveOAuth(fields, "oauth");
    const era = fields.take("protocolEra");
    if (era === "legacy") fields.put("protocol", "legacy", ["protocolEra"]);
    else if (era !== undefined && era !== "modern" && era !== "auto") {
      fields.warn(["protocolEra"], "is not a known era; the protocol version is negotiated");
    }
    return fields.finish({
      title: "Inspector",
      quiet: ["metadata", "autoRefreshOnListChanged", "paginatedLists"],
      unsupported: {
        roots: "are not supported here; set `roots` of the port",
        connectionTimeout: "is not supported; set `connectTimeoutMs` of the port",
        taskTtl: "is not supported",
      },
    });
  },
};

const DIALECTS: readonly Dialect[] = [
  ...[toolport, claudeCode, claudeDesktop, cursor, vscode, copilotCli, windsurf, zed, codex],
  ...[geminiCli, opencode, cline, mcporter, inspector, langchain, generic],
];

/** Names of all dialects. */
export const DIALECT_KINDS: readonly DialectKind[] = DIALECTS.map(({ kind }) => kind);

export const dialectOf = (kind: DialectKind): Dialect => DIALECTS.find((dialect) => dialect.kind === kind)!;
