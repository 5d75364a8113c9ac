/** Cursor: `.cursor/mcp.json` in a project or in the home directory. */
import type { Dialect } from "./dialect.js";
import { moveOAuth } from "./oauth-fields.js";
import { usualFields } from "./shared-fields.js";

export const cursor: Dialect = {
  kind: "cursor",
  title: "Cursor",
  containers: [["mcpServers"]],
  readEntry: (raw) => {
    const fields = usualFields(raw);
    moveOAuth(fields, "auth");
    return fields.finish({ title: "Cursor", quiet: ["name", "description"] });
  },
};
