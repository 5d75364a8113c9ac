/** Codex: tables `[mcp_servers.name]` in `config.toml`, with secrets as names of variables. */
import { isRecord } from "../../util/is-record.js";
import type { Dialect } from "./dialect.js";
import type { EntryFields } from "./entry-fields.js";
import { moveTimeout, moveToolFilters, usualFields } from "./shared-fields.js";

export const codex: Dialect = {
  kind: "codex",
  title: "Codex",
  containers: [["mcp_servers"]],
  isSettingsFile: true,
  readEntry: (raw) => {
    const fields = usualFields(raw);
    moveToolFilters(fields);
    moveTimeout(fields, "tool_timeout_sec", 1_000);
    fields.move("http_headers", "headers");
    moveHeaderVariables(fields);
    movePassedVariables(fields);
    if (fields.has("bearer_token")) {
      fields.take("bearer_token");
      fields.problem(["bearer_token"], 'is a secret in the file; use "bearer_token_env_var" instead');
    }
    const scopes = fields.take("scopes");
    if (scopes !== undefined && fields.entry["url"] !== undefined)
      fields.put("oauth", { scopes }, ["scopes"]);
    return fields.finish({
      title: "Codex",
      quiet: ["required", "tools", "default_tools_approval_mode", "supports_parallel_tool_calls", "auth"],
      unsupported: {
        startup_timeout_sec: "is not supported; set `connectTimeoutMs` of the port",
        startup_timeout_ms: "is not supported; set `connectTimeoutMs` of the port",
        oauth_resource: "is not used; the server provides its resource",
      },
    });
  },
};

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

function moveHeaderVariables(fields: EntryFields): void {
  const token = fields.take("bearer_token_env_var");
  if (typeof token === "string" && NAME.test(token)) {
    const origin = ["bearer_token_env_var"];
    fields.addTo("headers", "Authorization", { value: `Bearer \${${token}}`, origin });
  } else if (token !== undefined) fields.problem(["bearer_token_env_var"], "must be the name of a variable");
  const named = fields.take("env_http_headers");
  if (named === undefined) return;
  if (!isRecord(named)) return fields.problem(["env_http_headers"], "must be a table of headers");
  for (const [header, variable] of Object.entries(named)) {
    const origin = ["env_http_headers"];
    if (typeof variable === "string" && NAME.test(variable)) {
      fields.addTo("headers", header, { value: `\${${variable}}`, origin });
    } else fields.problem(["env_http_headers", header], "must be the name of a variable");
  }
}

function movePassedVariables(fields: EntryFields): void {
  const names = fields.take("env_vars");
  if (names === undefined) return;
  if (!Array.isArray(names)) return fields.problem(["env_vars"], "must be a list of names");
  for (const [index, item] of names.entries()) {
    const name: unknown = isRecord(item) ? item["name"] : item;
    if (typeof name === "string" && NAME.test(name)) fields.passVariable(name);
    else fields.problem(["env_vars", index], "must be the name of a variable");
  }
}
