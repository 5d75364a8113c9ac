/** Cline and Roo Code: `cline_mcp_settings.json` and similar files, with timeouts in seconds. */
import type { Dialect } from "./dialect.js";
import { EntryFields } from "./entry-fields.js";
import {
  moveAddress,
  moveEnabled,
  moveProcess,
  moveTimeout,
  moveToolFilters,
  moveType,
} from "./shared-fields.js";

const APPROVAL = "is not supported: set `approve` of the port to decide which calls need approval";

export const cline: Dialect = {
  kind: "cline",
  title: "Cline",
  containers: [["mcpServers"]],
  entryMarkers: ["autoApprove", "alwaysAllow"],
  readEntry: (raw) => {
    const fields = new EntryFields(raw);
    moveType(fields);
    fields.move("transportType", "type");
    moveProcess(fields);
    moveAddress(fields);
    moveEnabled(fields);
    moveToolFilters(fields);
    moveTimeout(fields, "timeout", 1_000);
    for (const key of ["autoApprove", "alwaysAllow"]) {
      const names = raw[key];
      if (Array.isArray(names) && names.length === 0) fields.take(key);
    }
    return fields.finish({
      title: "Cline",
      quiet: ["watchPaths", "description", "metadata"],
      unsupported: { autoApprove: APPROVAL, alwaysAllow: APPROVAL },
    });
  },
};
