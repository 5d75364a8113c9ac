/** All dialects, in the order of detection for files with an unknown name; simple dialects are defined here. */

import { isRecord } from "@toolport/base";
import { ENTRY_KEYS } from "@toolport/core/internal";
import { type Dialect, type DialectKind, type EntryFields, type FieldNote, moveCommand } from "./dialect.js";

/** Claude Code: `.mcp.json` in a project, `~/.claude.json` for a user. GitHub Copilot also reads `.mcp.json`. */
const claudeCode: Dialect = {
  kind: "claude-code",
  title: "Claude Code",
  entryMarkers: ["headersHelper"],
  rootMarkers: ["projects", "numStartups"],
  isSettingsFile: true,
  quiet: ["description", "alwaysLoad"],
  unsupported: {
    headersHelper:
      "names a program that creates headers, which Toolport does not run; pass `headers` as a function in code instead",
  },
  // Fields of Copilot, which shares the file.
  hasFilters: true,
  timeout: ["timeout", 1],
  oauth: "oauth",
  disabledBy: (root, name) => {
    const disabled = root["disabledMcpServers"];
    return Array.isArray(disabled) && disabled.includes(name) ? "disabledMcpServers" : undefined;
  },
};

/** The nearest directory that `~/.claude.json` has a project section for. */
export function findClaudeProject(root: unknown, folders: readonly string[]): string | undefined {
  const projects = isRecord(root) && isRecord(root["projects"]) ? root["projects"] : {};
  return folders.find((folder) => Object.hasOwn(projects, folder) && isRecord(projects[folder]));
}

const APPROVAL = "is not supported: set `approve` of the port to decide which calls need approval";

const cline: Dialect = {
  kind: "cline",
  title: "Cline",
  entryMarkers: ["autoApprove", "alwaysAllow"],
  quiet: ["watchPaths", "description", "metadata"],
  unsupported: { autoApprove: APPROVAL, alwaysAllow: APPROVAL },
  hasFilters: true,
  timeout: ["timeout", 1_000],
  after: (fields, raw) => {
    fields.move("transportType", "type");
    for (const key of ["autoApprove", "alwaysAllow"]) {
      const names = raw[key];
      if (Array.isArray(names) && names.length === 0) fields.take(key);
    }
  },
};

/** Codex: tables `[mcp_servers.name]` in `config.toml`, with secrets as names of variables. */
const codex: Dialect = {
  kind: "codex",
  title: "Codex",
  containers: [["mcp_servers"]],
  isSettingsFile: true,
  quiet: ["required", "tools", "default_tools_approval_mode", "supports_parallel_tool_calls", "auth"],
  unsupported: {
    startup_timeout_sec: "is not supported; set `connectTimeoutMs` of the port",
    startup_timeout_ms: "is not supported; set `connectTimeoutMs` of the port",
    oauth_resource: "is not used; the server provides its resource",
  },
  hasFilters: true,
  timeout: ["tool_timeout_sec", 1_000],
  after: (fields) => {
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
    if (typeof name === "string" && NAME.test(name)) fields.passedVariables.push(name);
    else fields.problem(["env_vars", index], "must be the name of a variable");
  }
}

/** Gemini CLI: `mcpServers` in `settings.json`. `url` is legacy SSE, `httpUrl` is Streamable HTTP. */
const geminiCli: Dialect = {
  kind: "gemini-cli",
  title: "Gemini CLI",
  entryMarkers: ["httpUrl", "authProviderType"],
  isSettingsFile: true,
  bareVariables: true,
  quiet: ["description", "extension"],
  unsupported: {
    trust: APPROVAL,
    authProviderType: "is not supported; use `oauth` or `headers`",
    tcp: "is not a supported transport",
  },
  hasFilters: true,
  timeout: ["timeout", 1],
  oauth: "oauth",
  before: (fields, raw) => {
    const type = fields.take("type");
    if (raw["httpUrl"] !== undefined) {
      fields.put("type", "http", ["httpUrl"]);
      fields.move("httpUrl", "url");
    } else if (raw["url"] !== undefined)
      fields.put("type", type ?? "sse", [type === undefined ? "url" : "type"]);
    if (raw["trust"] === false) fields.take("trust");
  },
  disabledBy: (root, name) => {
    const mcp = isRecord(root["mcp"]) ? root["mcp"] : {};
    const [allowed, excluded] = [mcp["allowed"], mcp["excluded"]];
    if (Array.isArray(excluded) && excluded.includes(name)) return "mcp.excluded";
    return Array.isArray(allowed) && !allowed.includes(name) ? "mcp.allowed" : undefined;
  },
};

/** Options of the client beside the servers. */
const CLIENT_OPTIONS = [
  ...["throwOnLoadError", "prefixToolNameWithServerName", "additionalToolNamePrefix"],
  ...["useStandardContentBlocks", "onConnectionError", "outputHandling", "defaultToolTimeout"],
];

const langchain: Dialect = {
  kind: "langchain",
  title: "LangChain",
  entryMarkers: ["defaultToolTimeout", "outputHandling", "automaticSSEFallback"],
  rootMarkers: CLIENT_OPTIONS,
  unsupported: {
    outputHandling: "is an option of LangChain; pass it to the MultiServerMCPClient of toolport/langchain",
  },
  addresses: ["url"],
  timeout: ["defaultToolTimeout", 1],
  after: (fields) => {
    for (const key of fields.names) if (ENTRY_KEYS.includes(key)) fields.move(key);
  },
  readRoot: (root): FieldNote[] =>
    CLIENT_OPTIONS.filter((key) => Object.hasOwn(root, key)).map((key) => ({
      path: [key],
      message: "is an option of the client, not of a server; pass it to the MultiServerMCPClient in code",
    })),
};

/** The snake_case spelling of a name. */
const snake = (key: string): string => key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
const takeEither = (fields: EntryFields, key: string): unknown => fields.take(key) ?? fields.take(snake(key));

const BOTH = (keys: readonly string[]): string[] => keys.flatMap((key) => [key, snake(key)]);

const mcporter: Dialect = {
  kind: "mcporter",
  title: "mcporter",
  entryMarkers: BOTH(["baseUrl", "bearerTokenEnv", "tokenCacheDir", "lifecycle", "executable"]),
  rootMarkers: ["imports"],
  quiet: ["description", "lifecycle", "logging", ...BOTH(["tokenCacheDir"])],
  unsupported: {
    oauthCommand: "names a login program, which Toolport does not run",
    oauth_command: "names a login program, which Toolport does not run",
  },
  hasFilters: true,
  before: (fields) => {
    if (!fields.has("command")) moveCommand(fields, "executable");
  },
  after: (fields) => {
    moveBearer(fields);
    moveLogin(fields);
  },
};

function moveBearer(fields: EntryFields): void {
  const token = takeEither(fields, "bearerToken");
  const variable = takeEither(fields, "bearerTokenEnv");
  if (typeof token === "string") {
    fields.addTo("headers", "Authorization", { value: `Bearer ${token}`, origin: ["bearerToken"] });
  } else if (typeof variable === "string") {
    fields.addTo("headers", "Authorization", { value: `Bearer \${${variable}}`, origin: ["bearerTokenEnv"] });
  }
}

function moveLogin(fields: EntryFields): void {
  const auth = fields.take("auth");
  const oauth = Object.entries({
    clientName: takeEither(fields, "clientName"),
    redirectUrl: takeEither(fields, "oauthRedirectUrl"),
    scopes: takeEither(fields, "oauthScope"),
    clientId: takeEither(fields, "oauthClientId"),
    clientSecret: takeEither(fields, "oauthClientSecret"),
  }).filter(([, value]) => value !== undefined);
  if (fields.entry["url"] === undefined) return;
  if (oauth.length > 0) fields.put("oauth", Object.fromEntries(oauth), ["auth"]);
  else if (auth === "oauth") fields.put("oauth", true, ["auth"]);
}

/** opencode: `mcp` in `opencode.json`, with the command as an array. */
const opencode: Dialect = {
  kind: "opencode",
  title: "opencode",
  containers: [["mcp"]],
  isSettingsFile: true,
  oauth: "oauth",
  before: (fields) => {
    fields.move("environment", "env");
    moveLimits(fields);
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

/** VS Code: `servers` and `inputs` in `.vscode/mcp.json` or the user's `mcp.json`; formerly `mcp.servers` in settings. */
const vscode: Dialect = {
  kind: "vscode",
  title: "VS Code",
  containers: [["servers"], ["mcp", "servers"]],
  quiet: ["dev", "gallery", "version", "description", "sandbox"],
  unsupported: {
    sandboxEnabled: "requests a sandbox, which Toolport does not provide: the process runs without one",
  },
  oauth: "oauth",
  before: (fields, raw) => {
    const url = raw["url"];
    if (typeof url === "string" && /^(unix|pipe):/i.test(url)) {
      fields.problem(["url"], "is a local socket, which Toolport does not support; use an http or https URL");
    }
    if (raw["sandboxEnabled"] !== true) fields.take("sandbox");
    if (raw["sandboxEnabled"] === false) fields.take("sandboxEnabled");
  },
};

/** Zed: `context_servers` in `settings.json`. Older files have program, arguments and variables in one object. */
const zed: Dialect = {
  kind: "zed",
  title: "Zed",
  containers: [["context_servers"]],
  isSettingsFile: true,
  quiet: ["settings", "remote"],
  hasFilters: true,
  timeout: ["timeout", 1_000],
  oauth: "oauth",
  before: (fields, raw) => {
    const command = raw["command"];
    if (isRecord(command)) {
      fields.take("command");
      fields.put("command", command["path"], ["command", "path"]);
      fields.put("args", command["args"] ?? undefined, ["command", "args"]);
      fields.put("env", command["env"] ?? undefined, ["command", "env"]);
    }
  },
  after: (fields, raw) => {
    const source = fields.take("source");
    const isReachable = fields.entry["command"] !== undefined || fields.entry["url"] !== undefined;
    if (!isReachable && (source === "extension" || raw["settings"] !== undefined)) {
      fields.problem([], "is started by a Zed extension, which only Zed supports; add its command here");
    }
  },
};

const toolport: Dialect = {
  kind: "toolport",
  title: "Toolport",
  isOwn: true,
  after: (fields) => {
    // Pass unknown fields on: the validation of the entry reports them.
    for (const key of fields.names) fields.move(key);
  },
};

const generic: Dialect = {
  kind: "generic",
  title: "this kind",
  containers: [["mcpServers"], ["servers"], ["context_servers"], ["mcp"], ["mcp_servers"]],
  quiet: ["description", "name"],
  isOwn: true,
  timeout: ["timeout", 1],
  after: (fields) => {
    for (const key of fields.names) if (ENTRY_KEYS.includes(key)) fields.move(key);
  },
};

const claudeDesktop: Dialect = {
  kind: "claude-desktop",
  title: "Claude Desktop",
  isSettingsFile: true,
  quiet: ["description"],
};

const cursor: Dialect = {
  kind: "cursor",
  title: "Cursor",
  quiet: ["name", "description"],
  oauth: "auth",
};

const windsurf: Dialect = {
  kind: "windsurf",
  title: "Windsurf",
  entryMarkers: ["serverUrl"],
  quiet: ["registry", "serverName"],
  hasFilters: true,
};

const copilotCli: Dialect = {
  kind: "copilot-cli",
  title: "Copilot CLI",
  entryMarkers: ["oauthClientId", "isDefaultServer"],
  quiet: ["isDefaultServer", "oauthPublicClient", "filterMapping", "displayName"],
  hasFilters: true,
  timeout: ["timeout", 1],
  oauth: "oauth",
  after: (fields) => {
    const clientId = fields.take("oauthClientId");
    if (clientId !== undefined) fields.put("oauth", { clientId }, ["oauthClientId"]);
  },
};

const inspector: Dialect = {
  kind: "inspector",
  title: "Inspector",
  entryMarkers: ["protocolEra", "requestTimeout", "connectionTimeout", "taskTtl", "paginatedLists"],
  quiet: ["metadata", "autoRefreshOnListChanged", "paginatedLists"],
  unsupported: {
    roots: "are not supported here; set `roots` of the port",
    connectionTimeout: "is not supported; set `connectTimeoutMs` of the port",
    taskTtl: "is not supported",
  },
  timeout: ["requestTimeout", 1],
  oauth: "oauth",
  after: (fields) => {
    const era = fields.take("protocolEra");
    if (era === "legacy") fields.put("protocol", "legacy", ["protocolEra"]);
    else if (era !== undefined && era !== "modern" && era !== "auto") {
      fields.warn(["protocolEra"], "is not a known era; the protocol version is negotiated");
    }
  },
};

const DIALECTS: readonly Dialect[] = [
  ...[toolport, claudeCode, claudeDesktop, cursor, vscode, copilotCli, windsurf, zed, codex],
  ...[geminiCli, opencode, cline, mcporter, inspector, langchain, generic],
];

/** Names of all dialects. */
export const DIALECT_KINDS: readonly DialectKind[] = DIALECTS.map(({ kind }) => kind);

export const dialectOf = (kind: DialectKind): Dialect => DIALECTS.find((dialect) => dialect.kind === kind)!;
