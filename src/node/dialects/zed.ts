/** Zed: `context_servers` in `settings.json`. Older files have program, arguments and variables in one object. */
import { isRecord } from "../../util/is-record.js";
import type { Dialect } from "./dialect.js";
import { EntryFields } from "./entry-fields.js";
import { moveOAuth } from "./oauth-fields.js";
import { moveAddress, moveEnabled, moveProcess, moveTimeout, moveToolFilters } from "./shared-fields.js";

export const zed: Dialect = {
  kind: "zed",
  title: "Zed",
  containers: [["context_servers"]],
  isSettingsFile: true,
  readEntry: (raw) => {
    const fields = new EntryFields(raw);
    const source = fields.take("source");
    const command = raw["command"];
    if (isRecord(command)) {
      fields.take("command");
      fields.put("command", command["path"], ["command", "path"]);
      fields.put("args", command["args"] ?? undefined, ["command", "args"]);
      fields.put("env", command["env"] ?? undefined, ["command", "env"]);
    }
    moveProcess(fields);
    moveAddress(fields);
    moveEnabled(fields);
    moveToolFilters(fields);
    moveTimeout(fields, "timeout", 1_000);
    moveOAuth(fields, "oauth");
    const isReachable = fields.entry["command"] !== undefined || fields.entry["url"] !== undefined;
    if (!isReachable && (source === "extension" || raw["settings"] !== undefined)) {
      fields.problem([], "is started by a Zed extension, which only Zed supports; add its command here");
    }
    return fields.finish({ title: "Zed", quiet: ["settings", "remote"] });
  },
};
