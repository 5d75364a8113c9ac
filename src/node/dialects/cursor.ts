/** Cursor: `.cursor/mcp.json` in a project or in the home directory. */
import type { Dialect } from "./dialect.js";
import { EntryFields } from "./entry-fields.js";
import { moveOAuth } from "./oauth-fields.js";
import { moveAddress, moveEnabled, moveProcess, moveType } from "./shared-fields.js";

export const cursor: Dialect = {
  kind: "cursor",
  title: "Cursor",
  containers: [["mcpServers"]],
  readEntry: (raw) => {
    const fields = new EntryFields(raw);
    moveType(fields);
    moveProcess(fields);
    moveAddress(fields);
    moveEnabled(fields);
    moveOAuth(fields, "auth");
    return fields.finish({ title: "Cursor", quiet: ["name", "description"] });
  },
};
