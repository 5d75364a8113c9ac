/** VS Code: `servers` and `inputs` in `.vscode/mcp.json` or the user's `mcp.json`; formerly `mcp.servers` in settings. */
import type { Dialect } from "./dialect.js";
import { EntryFields } from "./entry-fields.js";
import { moveOAuth } from "./oauth-fields.js";
import { moveAddress, moveEnabled, moveProcess, moveType } from "./shared-fields.js";

export const vscode: Dialect = {
  kind: "vscode",
  title: "VS Code",
  containers: [["servers"], ["mcp", "servers"]],
  readEntry: (raw) => {
    const fields = new EntryFields(raw);
    const url = raw["url"];
    if (typeof url === "string" && /^(unix|pipe):/i.test(url)) {
      fields.problem(["url"], "is a local socket, which Toolport does not support; use an http or https URL");
    }
    moveType(fields);
    moveProcess(fields);
    moveAddress(fields);
    moveEnabled(fields);
    moveOAuth(fields, "oauth");
    if (raw["sandboxEnabled"] !== true) fields.take("sandbox");
    if (raw["sandboxEnabled"] === false) fields.take("sandboxEnabled");
    return fields.finish({
      title: "VS Code",
      quiet: ["dev", "gallery", "version", "description", "sandbox"],
      unsupported: {
        sandboxEnabled: "requests a sandbox, which Toolport does not provide: the process runs without one",
      },
    });
  },
};
