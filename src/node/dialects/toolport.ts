/** Our own `toolport.json`: every field of a server entry, and the other programs' words for the commonest of them. */
import type { Dialect } from "./dialect.js";
import { EntryFields } from "./entry-fields.js";
import { moveOwnFields } from "./own-fields.js";

export const toolport: Dialect = {
  kind: "toolport",
  title: "Toolport",
  containers: [["mcpServers"]],
  readEntry: (raw) => {
    const fields = new EntryFields(raw);
    moveOwnFields(fields);
    // Nobody else writes this file, so a field that is not known is a slip and is told as one.
    for (const key of fields.names) fields.move(key);
    return fields.finish({ title: "Toolport" });
  },
};
