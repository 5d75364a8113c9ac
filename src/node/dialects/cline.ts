/** Cline and Roo Code: `cline_mcp_settings.json` and relatives, time limits in seconds. */
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

const APPROVAL = "is not taken over: whether a call needs approval is said by `approve` of the port";

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
