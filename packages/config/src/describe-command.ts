/** Describes for consent what a server entry runs or calls, unabridged, with its risks. */

import { canParseUrl, isRecord, redactUrl } from "@toolport/base";
import type { ServerEntry } from "@toolport/core";
import { parseServerEntry, type ServerConfig } from "@toolport/core/internal";
import {
  addressWarnings,
  type CommandRisk,
  commandRisks,
  HIDDEN,
  isRiskyVariable,
  variableRisks,
} from "./entry-risks.js";
import { PLACE_NAMES, textsIn } from "./expand-entry.js";
import { writtenForm } from "./expand-server.js";
import { type Reference, referencesIn, withDefaults } from "./expand-variables.js";
import type { WrittenServer } from "./read-servers.js";

/** What an entry would start or contact, for the question to the user. */
export interface CommandDescription {
  /** The full command line, or the URL. Safe to print. */
  readonly command: string;
  /** The server is started as a process on this machine. */
  readonly startsProcess: boolean;
  readonly risks: readonly CommandRisk[];
  /** The description in lines, for a prompt. Safe to print. */
  readonly text: string;
}

/**
 * Describes what connecting to a server would do. Arguments are shown in full, because they determine what happens. Values
 * of variables and headers are hidden, except of variables that affect which code runs or where traffic goes.
 *
 * @example
 * ```ts
 * const { text } = describeCommand({ command: "sh", args: ["-c", "curl https://example.com/x | sh"] });
 * console.error(text);
 * // runs      sh -c 'curl https://example.com/x | sh'
 * // DANGER    pipes text into a program that executes it
 * // …
 * ```
 */
export function describeCommand(entry: ServerEntry): CommandDescription {
  const config = parseServerEntry("server", entry);
  const { command, lines, risks, startsProcess } = describe(config);
  const warnings = sortRisks(risks);
  return { command, startsProcess, risks: warnings, text: [...lines, ...riskRows(warnings)].join("\n") };
}

/** Dangers first. */
const sortRisks = (risks: readonly CommandRisk[]): CommandRisk[] =>
  [...risks].sort((a, b) => a.level.localeCompare(b.level));

const riskRows = (risks: readonly CommandRisk[]): string[] =>
  risks.map(({ level, message }) => row(level === "danger" ? "DANGER" : "note", message));

/** The configuration of a server that is started. */
export type ProcessConfig = Extract<ServerConfig, { kind: "stdio" | "docker" }>;

type Described = Omit<CommandDescription, "text"> & { readonly lines: readonly string[] };

/** A line of a description: label and text. */
const row = (label: string, text: string): string => `${label.padEnd(9)} ${text}`;

function describe(config: ServerConfig): Described {
  switch (config.kind) {
    case "stdio":
      return describeProcess([config.command, ...config.args], config);
    case "docker":
      return describeProcess([config.engine, ...dockerArguments(config)], config);
    case "custom": {
      const lines = [row("runs", "a function of this program")];
      return { command: "(a function)", lines, risks: [], startsProcess: false };
    }
    default: {
      const command = visible(redactUrl(config.url));
      const { headers } = config;
      const names = typeof headers === "function" ? ["(headers from a function)"] : headers.names;
      const lines = [
        row("calls", command),
        ...(names.length > 0 ? [row("sends", names.map(visible).join(", "))] : []),
      ];
      const risks = [...addressRisks(config), ...proxyRisks(config.proxy?.reveal())];
      return { command, lines, risks, startsProcess: false };
    }
  }
}

const danger = (message: string): CommandRisk => ({ level: "danger", message });

/** The risks of a URL. */
function addressRisks(config: { readonly url: string }): CommandRisk[] {
  const isImitating = new URL(config.url).hostname.split(".").some((label) => label.startsWith("xn--"));
  const more = isImitating ? ["has a host name that may imitate another one"] : [];
  return [...addressWarnings(config), ...more].map(danger);
}

/** The risks of a proxy in the entry: it sees unencrypted requests, and the host names of all others. */
function proxyRisks(proxy: unknown): CommandRisk[] {
  if (proxy === false) return [{ level: "note", message: "bypasses the proxy of this machine" }];
  if (typeof proxy !== "string" || proxy === "env") return [];
  const { host = "named by a variable" } = canParseUrl(proxy) ? new URL(proxy) : {};
  return [danger(`sends its requests through the proxy ${visible(host)}`)];
}

const INHERITS = "inherits all environment variables, including secrets";

function describeProcess(words: readonly string[], config: ProcessConfig): Described {
  const { env } = config;
  const values = env.reveal();
  const command = words.map(quote).join(" ");
  const telling = env.names.filter(isRiskyVariable);
  const lines = [row("runs", command)];
  if (config.kind === "stdio" && config.cwd !== undefined) lines.push(row("in", quote(config.cwd)));
  if (env.names.length > 0) {
    const shown = env.names.map((name) =>
      telling.includes(name) ? `${visible(name)}=${quote(values[name]!)}` : visible(name),
    );
    lines.push(row("sets", shown.join(", ")));
  }
  const risks = [...commandRisks(words), ...variableRisks(env.names.map(visible))];
  if (config.kind === "stdio" && config.inheritEnv) risks.push(danger(INHERITS));
  return { command, lines, risks, startsProcess: true };
}

/** The arguments of the container engine, as the transport builds them. */
export function dockerArguments(config: Extract<ServerConfig, { kind: "docker" }>): string[] {
  const { dockerHost, env, mounts, runArgs, image, args } = config;
  return [
    ...(dockerHost === undefined ? [] : ["--host", dockerHost]),
    ...["run", "-i", "--rm"],
    ...env.names.flatMap((name) => ["-e", name]),
    ...mounts.flatMap((mount) => ["-v", mount]),
    ...runArgs,
    image,
    ...args,
  ];
}

/** Escapes invisible characters, so that none reaches a terminal. */
const visible = (text: string): string =>
  text.replace(HIDDEN, (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`);

/** Quotes a word as for a shell, so that its end is visible. */
function quote(word: string): string {
  const shown = visible(word);
  return /^[\w@%+=:,./\\-]+$/.test(shown) ? shown : `'${shown.replaceAll("'", "'\\''")}'`;
}

/** Returns lines for a prompt, unexpanded and unabridged. Safe to print. */
export function describeWritten(server: WrittenServer): string {
  const { entry, inputs } = writtenForm(server);
  return [
    ...toLines(entry),
    ...(inputs === undefined ? [] : ["inputs of the file:", ...toLines(inputs)]),
    ...riskRows(sortRisks(risksOf(server))).map(visible),
  ].join("\n");
}

const toLines = (value: unknown): string[] => toJson(value, "").split("\n").map(visible);

/** JSON with one field per line; arrays of primitives stay on one line. */
function toJson(value: unknown, indent: string): string {
  const inner = `${indent}  `;
  const isList = Array.isArray(value);
  if (!isList && !isRecord(value)) return JSON.stringify(typeof value === "bigint" ? String(value) : value);
  if (isList && value.every((item) => typeof item !== "object"))
    return `[${value.map((item) => toJson(item, inner)).join(", ")}]`;
  const items = isList
    ? value.map((item) => toJson(item, inner))
    : Object.entries(value).map(([name, field]) => `${JSON.stringify(name)}: ${toJson(field, inner)}`);
  const [open, close] = isList ? "[]" : "{}";
  return items.length === 0
    ? `${open}${close}`
    : `${open}\n${items.map((item) => inner + item).join(",\n")}\n${indent}${close}`;
}

function risksOf({ translated, dialect }: WrittenServer): CommandRisk[] {
  const { entry, envFile, passedVariables } = translated;
  const { url, env, inheritEnv, proxy } = entry;
  const bare = dialect.bareVariables === true;
  const references = textsIn([entry, envFile]).flatMap((text) => referencesIn(text, { bare }));
  const risks = [...commandRisks(wordsOf(entry)), ...variableRisks(isRecord(env) ? Object.keys(env) : [])];
  if (inheritEnv === true) risks.push(danger(INHERITS));
  if (typeof url === "string" && canParseUrl(withDefaults(url)))
    risks.push(...addressRisks({ url: withDefaults(url) }));
  risks.push(...proxyRisks(proxy));
  return [...risks, ...referenceRisks(references, passedVariables), ...envFileRisks(envFile)];
}

/** The command line with variables replaced by their defaults, where they have one. */
function wordsOf(entry: Readonly<Record<string, unknown>>): string[] {
  const { command, args, image, engine, dockerHost, mounts, runArgs } = entry;
  const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
  const container = [
    ...[engine ?? "docker", "--host", dockerHost, "run"],
    ...list(mounts).flatMap((mount) => ["-v", mount]),
    ...[...list(runArgs), image],
  ];
  return [command, ...(image === undefined ? [] : container), ...list(args)]
    .filter((word) => typeof word === "string")
    .map(withDefaults);
}

function referenceRisks(references: readonly Reference[], passed: readonly string[]): CommandRisk[] {
  const files = references.flatMap((found) => (found.kind === "file" ? [found.path] : []));
  const variables = references.flatMap((found) => (found.kind === "variable" ? [found.name] : []));
  const names = [...new Set([...variables, ...passed])].filter((name) => !PLACE_NAMES.includes(name));
  const risks = [...new Set(files)].map((path) => danger(`reads ${path}`));
  if (names.length > 0)
    risks.push({ level: "note", message: `takes ${names.join(", ")} from your environment` });
  return risks;
}

/** The variables of the file may affect which code runs. */
const envFileRisks = (envFile: string | undefined): CommandRisk[] =>
  envFile === undefined ? [] : [{ level: "note", message: `takes variables from the file ${envFile}` }];
