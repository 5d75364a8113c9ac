/** A file of nobody in particular: what everybody writes, and all fields of our own. */
import { ENTRY_KEYS } from "../../config/read-config.js";
import type { Dialect } from "./dialect.js";
import { EntryFields } from "./entry-fields.js";
import { moveOwnFields } from "./own-fields.js";
import { moveTimeout } from "./shared-fields.js";

export const generic: Dialect = {
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
