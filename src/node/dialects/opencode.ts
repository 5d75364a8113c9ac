/** opencode: `mcp` in `opencode.json`, with the command as an array. */
import { isRecord } from "../../util/is-record.js";
import type { Dialect } from "./dialect.js";
import { EntryFields } from "./entry-fields.js";
import { moveOAuth } from "./oauth-fields.js";
import { moveAddress, moveEnabled, moveProcess, moveType } from "./shared-fields.js";

export const opencode: Dialect = {
  kind: "opencode",
  title: "opencode",
  containers: [["mcp"]],
  isSettingsFile: true,
  readEntry: (raw) => {
    const fields = new EntryFields(raw);
    moveType(fields);
    fields.move("environment", "env");
    moveProcess(fields);
    moveAddress(fields);
    moveEnabled(fields);
    moveLimits(fields);
    moveOAuth(fields, "oauth");
    return fields.finish({ title: "opencode" });
  },
};

/** `timeout` is a number, or an object with timeouts for startup and requests. */
function moveLimits(fields: EntryFields): void {
  const limits = fields.take("timeout");
  const request: unknown = isRecord(limits) ? limits["request"] : limits;
  if (typeof request === "number" && request > 0) fields.put("timeoutMs", request, ["timeout"]);
  else if (request !== undefined) fields.warn(["timeout"], "is not a timeout in milliseconds; it is ignored");
  if (isRecord(limits) && limits["startup"] !== undefined) {
    fields.warn(["timeout", "startup"], "is not supported; set `connectTimeoutMs` of the port");
  }
}
