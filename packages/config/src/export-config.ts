/** Converts servers to the configuration format of another program. */

import type { ServerEntry } from "@toolport/core";
import { parseServerEntry, type ServerConfig } from "@toolport/core/internal";
import { dockerArguments, type ProcessConfig } from "./describe-command.js";

/** The supported programs. */
export type ExportDialect = "vscode" | "claude" | "cursor" | "toolport";

/** Options of `exportConfig()`. */
export interface ExportConfigOptions {
  /**
   * `"variables"`: replaces values of headers and variables by references, for a file that others may see.
   * `"keep"`: includes the values.
   * @default "variables"
   */
  secrets?: "variables" | "keep";
}

/** A configuration file for another program. */
export interface ExportedConfig {
  /** The content of the file. */
  readonly text: string;
  /** Variables (for VS Code: inputs) that the file refers to. */
  readonly variables: readonly string[];
  /** Options that the other program does not support. */
  readonly warnings: readonly string[];
}

/** Syntax of a reference to a secret. */
const REFERENCES: Readonly<Record<ExportDialect, (name: string) => string>> = {
  vscode: (name) => `\${input:${name}}`,
  cursor: (name) => `\${env:${name}}`,
  claude: (name) => `\${${name}}`,
  toolport: (name) => `\${${name}}`,
};

/**
 * Returns the text of a configuration file. Writes nothing to disk.
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
  const inputs = secrets.names.map((id) => ({ type: "promptString", id, description: id, password: true }));
  const root = dialect === "vscode" ? { inputs, servers: map } : { mcpServers: map };
  return { text: `${JSON.stringify(root, undefined, 2)}\n`, variables: secrets.names, warnings };
}

/** A reference that the value already contains. */
const REFERENCE = /\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)\}/g;

/** Replaces secrets by references and records their names. */
class ExportedSecrets {
  readonly #values = new Map<string, string>();

  constructor(
    readonly dialect: ExportDialect,
    readonly policy: "variables" | "keep",
  ) {}

  get names(): string[] {
    return [...this.#values.keys()];
  }

  /** `prefixed`: adds the server's name, because a name such as `Authorization` is ambiguous. */
  map(
    values: ProcessConfig["env"],
    server: string,
    { prefixed }: { prefixed: boolean },
  ): Readonly<Record<string, string>> | undefined {
    if (values.names.length === 0) return undefined;
    const revealed = values.reveal();
    if (this.policy === "keep") return revealed;
    return Object.fromEntries(
      Object.entries(revealed).map(([name, value]) => [name, this.#refer(value, [name, server], prefixed)]),
    );
  }

  #refer(value: string, [name, server]: readonly [string, string], prefixed: boolean): string {
    const to = REFERENCES[this.dialect];
    const known = [...value.matchAll(REFERENCE)];
    if (known.length > 0) {
      for (const [whole, variable = ""] of known) this.#values.set(variable, whole);
      return value.replace(REFERENCE, (_whole, variable: string) => to(variable));
    }
    const [short, long] = [name, `${server}_${name}`].map(toVariable) as [string, string];
    // Two servers may have different values for the same name.
    const isTaken = this.#values.has(short) && this.#values.get(short) !== value;
    const variable = prefixed || isTaken ? long : short;
    this.#values.set(variable, value);
    // The scheme is not a secret, and the server requires it.
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
    return void warn("is created by a function, which a file cannot contain; it is left out");
  if (dialect === "toolport") return writeOwn(config, writing);
  if (!config.enabled) return void warn("is disabled, which that program does not support; it is left out");
  if (config.fallback !== undefined) warn("has a fallback, which that program does not support");
  if (config.only !== undefined || config.except !== undefined || config.filter !== undefined) {
    warn("has a tool filter, which that program does not support: it will offer all tools");
  }
  if (config.kind === "stdio" || config.kind === "docker") return writeProcess(config, writing);
  if ("proxy" in config && config.proxy !== undefined)
    warn("has its own proxy, which that program does not support");
  if (config.kind === "websocket" && dialect !== "claude") {
    return void warn("uses WebSocket, which that program does not support; it is left out");
  }
  const type = { http: "http", sse: "sse", websocket: "ws" }[config.kind];
  const { url, headers } = config;
  const fixed = typeof headers === "function" ? undefined : headers;
  if (fixed === undefined) warn("has headers from a function, which a file cannot contain");
  return compact({
    type: dialect === "cursor" ? undefined : type,
    url,
    headers: fixed && writing.secrets.map(fixed, config.name, { prefixed: true }),
  });
}

function writeProcess(config: ProcessConfig, { dialect, secrets, warn }: Writing): Record<string, unknown> {
  const env = secrets.map(config.env, config.name, { prefixed: false });
  const type = dialect === "vscode" ? "stdio" : undefined;
  if (config.kind === "docker")
    return compact({ type, command: config.engine, args: dockerArguments(config), env });
  if (config.cwd !== undefined && dialect !== "vscode")
    warn("has a working directory, which that program does not support");
  return compact({
    type,
    command: config.command,
    args: config.args.length > 0 ? config.args : undefined,
    env,
    cwd: dialect === "vscode" ? config.cwd : undefined,
  });
}

/** All fields of an entry except functions. */
function writeOwn(config: ServerConfig, { entry, secrets, warn }: Writing): Record<string, unknown> {
  const written: Record<string, unknown> = { ...entry };
  for (const [key, value] of Object.entries(entry)) {
    if (typeof value === "function" || key === "authProvider" || key === "clientOptions") {
      warn(`"${key}" is created in code, which a file cannot contain`);
      delete written[key];
    }
  }
  if ("env" in config) written["env"] = secrets.map(config.env, config.name, { prefixed: false });
  if ("headers" in config && typeof config.headers !== "function") {
    written["headers"] = secrets.map(config.headers, config.name, { prefixed: true });
  }
  const oauth = written["oauth"];
  if (typeof oauth === "object" && oauth !== null && secrets.policy === "variables") {
    const { clientSecret, privateKey, assertion, enterprise, ...rest } = oauth as Record<string, unknown>;
    if (clientSecret ?? privateKey ?? assertion ?? enterprise) warn("its OAuth secrets are left out");
    written["oauth"] = rest;
  }
  const proxy = "proxy" in config ? config.proxy?.reveal() : undefined;
  if (typeof proxy === "string" && proxy !== "env" && secrets.policy === "variables") {
    const url = new URL(proxy);
    if (url.username + url.password !== "") {
      url.username = url.password = "";
      warn("the user name and password of its proxy are left out");
      written["proxy"] = url.href;
    }
  }
  return compact(written);
}

const compact = (fields: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
