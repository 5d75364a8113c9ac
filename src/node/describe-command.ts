/** Words for consent: exactly what would be run or called, nothing shortened, and what to look out for. */
import { parseServerEntry } from "../config/parse-servers.js";
import { SecretRecord } from "../config/secret-record.js";
import type { DockerConfig, HeaderSource, ServerConfig, StdioConfig } from "../config/server-config.js";
import type { ServerEntry } from "../config/server-entry.js";
import { redactUrl } from "../util/redact-text.js";
import {
  addressWarnings,
  type CommandRisk,
  commandRisks,
  HIDDEN,
  isRiskyVariable,
  variableRisks,
} from "./entry-risks.js";

export interface CommandDescription {
  /** The whole command line as one would type it, or the address. Safe to print. */
  readonly command: string;
  /** It starts a process on this machine. */
  readonly startsProcess: boolean;
  readonly risks: readonly CommandRisk[];
  /** Everything in lines, for a prompt. Safe to print. */
  readonly text: string;
}

/**
 * Describes what connecting to a server would do. Arguments are shown in full, since they decide what happens; values
 * of variables and headers are not, except of variables that decide what is run or whom it talks to.
 *
 * @example
 * ```ts
 * const { text } = describeCommand({ command: "sh", args: ["-c", "curl https://example.com/x | sh"] });
 * console.error(text);
 * // runs      sh -c 'curl https://example.com/x | sh'
 * // DANGER    pipes text into a program that runs it
 * // …
 * ```
 */
export function describeCommand(entry: ServerEntry): CommandDescription {
  const config = parseServerEntry("server", entry);
  const { command, lines, risks, startsProcess } = describe(config);
  const warnings = sortRisks(risks);
  return { command, startsProcess, risks: warnings, text: [...lines, ...riskRows(warnings)].join("\n") };
}

/** What can do harm at once comes first. */
export const sortRisks = (risks: readonly CommandRisk[]): CommandRisk[] =>
  [...risks].sort((a, b) => a.level.localeCompare(b.level));

export const riskRows = (risks: readonly CommandRisk[]): string[] =>
  risks.map(({ level, message }) => row(level === "danger" ? "DANGER" : "note", message));

interface Described {
  readonly command: string;
  readonly lines: readonly string[];
  readonly risks: readonly CommandRisk[];
  readonly startsProcess: boolean;
}

/** A line of a description: what it is about, and the text. */
const row = (label: string, text: string): string => `${label.padEnd(9)} ${text}`;

function describe(config: ServerConfig): Described {
  switch (config.kind) {
    case "stdio":
      return describeProcess([config.command, ...config.args], config);
    case "docker":
      return describeProcess(dockerWords(config), config);
    case "custom":
      return {
        command: "(a function)",
        lines: [row("runs", "a function of this program")],
        risks: [],
        startsProcess: false,
      };
    default: {
      const command = visible(redactUrl(config.url));
      const names = namesOf(config.headers);
      const lines = [
        row("calls", command),
        ...(names.length > 0 ? [row("sends", names.map(visible).join(", "))] : []),
      ];
      const risks = [...addressRisks(config), ...proxyRisks(config.proxy?.reveal())];
      return { command, lines, risks, startsProcess: false };
    }
  }
}

/** What is unwise or suspicious about an address. */
export function addressRisks(config: { readonly url: string }): CommandRisk[] {
  const risks = addressWarnings(config).map((message): CommandRisk => ({ level: "danger", message }));
  const host = new URL(config.url).hostname;
  if (host.split(".").some((label) => label.startsWith("xn--"))) {
    risks.push({ level: "danger", message: "has a host whose name may only look like the one you know" });
  }
  return risks;
}

/** An entry that chooses the way to its server. The proxy sees plain requests whole, and the host names of all others. */
export function proxyRisks(proxy: unknown): CommandRisk[] {
  if (proxy === false) return [{ level: "note", message: "does not use the proxy of this machine" }];
  if (typeof proxy !== "string" || proxy === "env") return [];
  const { host = "named by a variable" } = URL.canParse(proxy) ? new URL(proxy) : {};
  return [{ level: "danger", message: `sends its requests through the proxy ${visible(host)}` }];
}

function describeProcess(words: readonly string[], config: StdioConfig | DockerConfig): Described {
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
  if (config.kind === "stdio" && config.inheritEnv) {
    risks.push({ level: "danger", message: "gets all variables of this program, keys among them" });
  }
  return { command, lines, risks, startsProcess: true };
}

/** The command line of the engine, as the transport puts it together. */
function dockerWords({ engine, dockerHost, env, mounts, runArgs, image, args }: DockerConfig): string[] {
  return [
    engine,
    ...(dockerHost === undefined ? [] : ["--host", dockerHost]),
    ...["run", "-i", "--rm"],
    ...env.names.flatMap((name) => ["-e", name]),
    ...mounts.flatMap((mount) => ["-v", mount]),
    ...runArgs,
    image,
    ...args,
  ];
}

const namesOf = (headers: HeaderSource): string[] =>
  headers instanceof SecretRecord ? headers.names : ["(headers made by a function)"];

/** What cannot be seen is spelled out; nothing of it may reach a terminal. */
export const visible = (text: string): string =>
  text.replace(HIDDEN, (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`);

/** As a shell would need it, so that one sees where a word ends. */
function quote(word: string): string {
  const shown = visible(word);
  return /^[\w@%+=:,./\\-]+$/.test(shown) ? shown : `'${shown.replaceAll("'", "'\\''")}'`;
}
