/** Writes servers the way another program wants them. */
import { parseServerEntry } from "../config/parse-servers.js";
import { SecretRecord } from "../config/secret-record.js";
import type { DockerConfig, ServerConfig, StdioConfig } from "../config/server-config.js";
import type { ServerEntry } from "../config/server-entry.js";

/** The programs that servers can be written for. */
export type ExportDialect = "vscode" | "claude" | "cursor" | "toolport";

export interface ExportConfigOptions {
  /**
   * `"variables"`: values of headers and variables are replaced by references, for a file that others may see.
   * `"keep"`: they are written out.
   * @default "variables"
   */
  secrets?: "variables" | "keep";
}

export interface ExportedConfig {
  /** The content of the file. */
  readonly text: string;
  /** Variables (for VS Code: inputs) whose values the file now asks for. */
  readonly variables: readonly string[];
  /** What that program cannot do. */
  readonly warnings: readonly string[];
}

/** How each program writes a reference to a secret. */
const REFERENCES: Readonly<Record<ExportDialect, (name: string) => string>> = {
  vscode: (name) => `\${input:${name}}`,
  cursor: (name) => `\${env:${name}}`,
  claude: (name) => `\${${name}}`,
  toolport: (name) => `\${${name}}`,
};

/**
 * Makes the text of a configuration file. Nothing is written anywhere.
 *
 * @example
 * ```ts
 * const { mcpServers } = await loadConfig("toolport.json");
 * const { text, warnings } = exportConfig(mcpServers, "vscode");
 * ```
 */
export function exportConfig(
  servers: Readonly<Record<string, ServerEntry>>,
  dialect: ExportDialect,
  options: ExportConfigOptions = {},
): ExportedConfig {
  const warnings: string[] = [];
  const secrets = new ExportedSecrets(dialect, options.secrets ?? "variables");
  const entries = Object.entries(servers).flatMap(([name, entry]) => {
    const config = parseServerEntry(name, entry);
    const warn = (message: string) => void warnings.push(`${name}: ${message}`);
    const written = writeEntry(config, { dialect, entry, secrets, warn });
    return written === undefined ? [] : [[name, written] as const];
  });
  const map = Object.fromEntries(entries);
  const inputs = secrets.names.map((id) => ({
    ...{ type: "promptString", id, description: id },
    password: true,
  }));
  const root = dialect === "vscode" ? { inputs, servers: map } : { mcpServers: map };
  return { text: `${JSON.stringify(root, undefined, 2)}\n`, variables: secrets.names, warnings };
}

/** A reference that stood in the text already. */
const REFERENCE = /\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)\}/g;

/** Puts references in place of secrets and remembers them. */
class ExportedSecrets {
  readonly #values = new Map<string, string>();

  constructor(
    readonly dialect: ExportDialect,
    readonly policy: "variables" | "keep",
  ) {}

  get names(): string[] {
    return [...this.#values.keys()];
  }

  /** `prefixed`: a name such as `Authorization` says too little without the server's. */
  map(
    values: SecretRecord,
    server: string,
    { prefixed }: { prefixed: boolean },
  ): Record<string, string> | undefined {
    if (values.names.length === 0) return undefined;
    const revealed = values.reveal();
    const entries = values.names.map((name) => {
      const value = revealed[name]!;
      return [name, this.policy === "keep" ? value : this.#refer(value, { name, server, prefixed })];
    });
    return Object.fromEntries(entries) as Record<string, string>;
  }

  #refer(
    value: string,
    { name, server, prefixed }: { name: string; server: string; prefixed: boolean },
  ): string {
    const to = REFERENCES[this.dialect];
    const known = [...value.matchAll(REFERENCE)];
    if (known.length > 0) {
      for (const [whole, variable = ""] of known) this.#values.set(variable, whole);
      return value.replace(REFERENCE, (_whole, variable: string) => to(variable));
    }
    const [short, long] = [name, `${server}_${name}`].map(toVariable) as [string, string];
    // Two servers may give different values to variables of one name.
    const isTaken = this.#values.has(short) && this.#values.get(short) !== value;
    const variable = prefixed || isTaken ? long : short;
    this.#values.set(variable, value);
    // The word in front is no secret, and the server wants it.
    const scheme = /^(?:Bearer|Basic|Token) /i.exec(value)?.[0] ?? "";
    return `${scheme}${to(variable)}`;
  }
}

const toVariable = (name: string): string =>
  name
    .replace(/[^A-Za-z0-9]+/g, "_")
    .replace(/^(?=\d)/, "_")
    .toUpperCase();

interface Writing {
  readonly dialect: ExportDialect;
  readonly entry: ServerEntry;
  readonly secrets: ExportedSecrets;
  readonly warn: (message: string) => void;
}

function writeEntry(config: ServerConfig, writing: Writing): Record<string, unknown> | undefined {
  const { dialect, warn } = writing;
  if (config.kind === "custom")
    return void warn("is made by a function, which no file can hold; it is left out");
  if (dialect === "toolport") return writeOwn(config, writing);
  if (!config.enabled) return void warn("is switched off, which cannot be said there; it is left out");
  if (config.fallback !== undefined) warn("has a fallback, which cannot be said there");
  if (config.only !== undefined || config.except !== undefined || config.filter !== undefined) {
    warn("offers only some of its tools, which cannot be said there: all will be offered");
  }
  if (config.kind === "stdio" || config.kind === "docker") return writeProcess(config, writing);
  if ("proxy" in config && config.proxy !== undefined)
    warn("has a proxy of its own, which cannot be said there");
  if (config.kind === "websocket" && dialect !== "claude") {
    return void warn("is reached over WebSocket, which is not known there; it is left out");
  }
  const type = { http: "http", sse: "sse", websocket: "ws" }[config.kind];
  const { headers } = config;
  if (!(headers instanceof SecretRecord)) warn("has headers made by a function, which no file can hold");
  return compact({
    type: dialect === "cursor" ? undefined : type,
    url: config.url,
    headers:
      headers instanceof SecretRecord
        ? writing.secrets.map(headers, config.name, { prefixed: true })
        : undefined,
  });
}

function writeProcess(
  config: StdioConfig | DockerConfig,
  { dialect, secrets, warn }: Writing,
): Record<string, unknown> {
  const env = secrets.map(config.env, config.name, { prefixed: false });
  const type = dialect === "vscode" ? "stdio" : undefined;
  if (config.kind === "docker") {
    const { engine, dockerHost, mounts, runArgs, image, args } = config;
    const host = dockerHost === undefined ? [] : ["--host", dockerHost];
    const variables = config.env.names.flatMap((name) => ["-e", name]);
    const volumes = mounts.flatMap((mount) => ["-v", mount]);
    const words = [...host, "run", "-i", "--rm", ...variables, ...volumes, ...runArgs, image, ...args];
    return compact({ type, command: engine, args: words, env });
  }
  if (config.cwd !== undefined && dialect !== "vscode")
    warn("runs in a folder of its own, which cannot be said there");
  return compact({
    type,
    command: config.command,
    args: config.args.length > 0 ? config.args : undefined,
    env,
    cwd: dialect === "vscode" ? config.cwd : undefined,
  });
}

/** Everything an entry has, but for what is a function. */
function writeOwn(config: ServerConfig, { entry, secrets, warn }: Writing): Record<string, unknown> {
  const written: Record<string, unknown> = { ...entry };
  for (const [key, value] of Object.entries(entry)) {
    if (typeof value === "function" || key === "authProvider" || key === "clientOptions") {
      warn(`"${key}" is made in code, which no file can hold`);
      delete written[key];
    }
  }
  if ("env" in config) written["env"] = secrets.map(config.env, config.name, { prefixed: false });
  if ("headers" in config && config.headers instanceof SecretRecord) {
    written["headers"] = secrets.map(config.headers, config.name, { prefixed: true });
  }
  const oauth = written["oauth"];
  if (typeof oauth === "object" && oauth !== null && secrets.policy === "variables") {
    const { clientSecret, privateKey, assertion, enterprise, ...rest } = oauth as Record<string, unknown>;
    if (clientSecret ?? privateKey ?? assertion ?? enterprise) warn("its OAuth secrets are left out");
    written["oauth"] = rest;
  }
  if ("proxy" in config && config.proxy !== undefined)
    written["proxy"] = writeProxy(config.proxy.reveal(), { secrets, warn });
  return compact(written);
}

/** Without its credentials, where secrets stay out of the file. */
function writeProxy(
  proxy: string | false,
  { secrets, warn }: Pick<Writing, "secrets" | "warn">,
): string | false {
  if (proxy === false || proxy === "env" || secrets.policy !== "variables") return proxy;
  const url = new URL(proxy);
  if (url.username === "" && url.password === "") return proxy;
  url.username = url.password = "";
  warn("the user name and the password of its proxy are left out");
  return url.href;
}

const compact = (fields: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
