/** A command: its row in the table of `commands.ts`, its parsed form, and its help. */

import { formatPairs } from "../util/format-table.js";
import type { CommandContext, TypedServers } from "./command-context.js";

/** One option of a command. */
export interface OptionSpec {
  readonly type: "boolean" | "string";
  readonly short?: string;
  /** May be given several times. */
  readonly multiple?: boolean;
  /** Placeholder of the value in the help: `<ms>`. */
  readonly value?: string;
  readonly summary: string;
  /** The only values it accepts. */
  readonly choices?: readonly string[];
}

/** What a positional argument names; shell completion offers the known values. */
export type Completes = "server" | "tool" | "argument" | "resource" | "prompt" | "file" | "none";

export interface PositionalSpec {
  readonly name: string;
  readonly summary: string;
  readonly completes: Completes;
  readonly optional?: boolean;
  /** Takes all remaining words. */
  readonly rest?: boolean;
  /** The only words it accepts. */
  readonly choices?: readonly string[];
}

export interface CommandSpec {
  readonly name: string;
  /** One line for the list of commands. */
  readonly summary: string;
  readonly group: "servers" | "use" | "look" | "program";
  readonly positionals: readonly PositionalSpec[];
  readonly options: Readonly<Record<string, OptionSpec>>;
  /** Complete command lines, each with an explanation. */
  readonly examples: readonly (readonly [line: string, what: string])[];
  /** The words after `--` are a command of another program. */
  readonly takesCommand?: boolean;
  /**
   * The first argument may be a server that is not configured: a URL, `--stdio` or a command after `--`. `"tool"`: the argument is
   * `server.tool`, or `server` alone. `"servers"`: all arguments are servers.
   */
  readonly takesTyped?: "server" | "servers" | "tool";
  /** Options that the command does not know are arguments of a tool or prompt: `--city Oslo`. */
  readonly takesNamed?: boolean;
  /** Left out of help and completion: for programs only. */
  readonly isHidden?: boolean;
  /** Loads the code of the command. Called only to run it, so that `--help` stays fast. */
  readonly load: () => Promise<RunCommand>;
}

/** Runs a command and resolves with the exit code. `run-command-line.ts` prints the error it throws. */
export type RunCommand = (invocation: Invocation, context: CommandContext) => Promise<number>;

/** A parsed command line. */
export interface Invocation {
  readonly command: CommandSpec;
  /** The table that the command was found in. */
  readonly commands: readonly CommandSpec[];
  /** Positional arguments, in order. */
  readonly words: readonly string[];
  /** The words after `--`. */
  readonly passthrough: readonly string[];
  /** Options of the command and global options. */
  readonly options: Readonly<Record<string, string | boolean | readonly string[] | undefined>>;
  /** Options that are arguments of a tool or prompt, in order. */
  readonly named: readonly NamedArgument[];
  /** The servers that the user typed; undefined if all servers are configured ones. */
  readonly typed?: TypedServers | undefined;
}

/** An argument of a tool in the form `--name value`, `--name=value` or `--name`. */
export interface NamedArgument {
  readonly name: string;
  readonly text: string | undefined;
  /** The text is a word of its own, so it may be something else if the argument is a boolean. */
  readonly isDetached: boolean;
}

/** A URL of a server. */
export const isAddress = (text: string): boolean => /^(?:https?|wss?):\/\//i.test(text);

/** The user typed a server instead of naming a configured one. */
export const hasTyped = ({
  command,
  words,
  passthrough,
  options,
}: Pick<Invocation, "command" | "words" | "passthrough" | "options">): boolean =>
  command.takesTyped !== undefined &&
  (passthrough.length > 0 ||
    options["stdio"] !== undefined ||
    words.slice(0, command.takesTyped === "servers" ? undefined : 1).some(isAddress));

/** The value of a string option. */
export function textOption({ options }: Invocation, name: string): string | undefined {
  const value = options[name];
  return typeof value === "string" ? value : undefined;
}

/** The values of a string option that may be given several times. */
export function textsOption({ options }: Invocation, name: string): readonly string[] {
  const value = options[name];
  if (typeof value === "string") return [value];
  return Array.isArray(value) ? value : [];
}

export const flagOption = ({ options }: Invocation, name: string): boolean => options[name] === true;

/** The `--config` and `--state` options as the user typed them. */
export function locationOptions(invocation: Invocation): string[] {
  const state = textOption(invocation, "state");
  return [
    ...textsOption(invocation, "config").flatMap((path) => ["--config", path]),
    ...(state === undefined ? [] : ["--state", state]),
  ];
}

export const SERVER: PositionalSpec = {
  name: "server",
  summary: "Name of the server",
  completes: "server",
};

export const OPTIONAL_SERVER: PositionalSpec = {
  name: "server",
  summary: "Only this server",
  completes: "server",
  optional: true,
};

/** Options of commands that accept a typed server. */
export const TYPED_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  stdio: {
    type: "string",
    value: "<command>",
    summary: "Start this command instead of a configured server (also: -- command)",
  },
  header: { type: "string", multiple: true, value: "<name: value>", summary: "HTTP header for a URL" },
  env: { type: "string", multiple: true, value: "<name=value>", summary: "Variable for --stdio" },
  cwd: { type: "string", value: "<dir>", summary: "Working directory for --stdio" },
  transport: {
    type: "string",
    value: "<kind>",
    choices: ["http", "sse", "websocket", "auto"],
    summary: "Transport for a URL (detected automatically)",
  },
};

export const MODEL_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  "model-url": {
    type: "string",
    value: "<url>",
    summary: "An OpenAI-compatible or Anthropic endpoint",
  },
  model: { type: "string", value: "<name>", summary: "Name of the model" },
};

export const GLOBAL_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  json: {
    type: "boolean",
    summary: "Print one JSON document on stdout, and errors as one JSON line on stderr",
  },
  output: {
    type: "string",
    value: "<form>",
    choices: ["text", "json", "raw"],
    summary: "Output format: text, json (same as --json) or raw (only the data)",
  },
  config: {
    type: "string",
    short: "c",
    multiple: true,
    value: "<path>",
    summary: "Configuration file, or a directory with one, in any known dialect",
  },
  state: { type: "string", value: "<path>", summary: "State file" },
  "no-state": { type: "boolean", summary: "Keep state in memory only" },
  timeout: { type: "string", value: "<ms>", summary: "How long to wait for a server" },
  yes: { type: "boolean", short: "y", summary: "Answer yes to every question" },
  quiet: { type: "boolean", short: "q", summary: "No progress, no warnings" },
  verbose: { type: "boolean", short: "v", summary: "Print details on stderr" },
  "no-color": { type: "boolean", summary: "No colours" },
  help: { type: "boolean", short: "h", summary: "Show help" },
  version: { type: "boolean", summary: "Show the version" },
};

const GROUPS: Readonly<Record<CommandSpec["group"], string>> = {
  servers: "Servers",
  use: "Use tools, resources and prompts",
  look: "Inspect",
  program: "More",
};

/** `toolport --help`. */
export function programHelp(commands: readonly CommandSpec[], columns?: number | undefined): string {
  const pairs = pairsWithin(columns);
  const groups = Object.entries(GROUPS).flatMap(([group, title]) => {
    const own = commands.filter((command) => command.group === group && command.isHidden !== true);
    return ["", title, ...indent(pairs(own.map(({ name, summary }) => [name, summary])))];
  });
  return [
    "Usage: toolport <command> [arguments] [options]",
    ...groups,
    "",
    "Global options",
    ...indent(pairs(optionRows(GLOBAL_OPTIONS))),
    "",
    "More about a command: toolport <command> --help",
  ].join("\n");
}

/** `toolport <command> --help`. */
export function commandHelp(command: CommandSpec, columns?: number | undefined): string {
  const pairs = pairsWithin(columns);
  const { name, summary, positionals, options, examples, takesCommand, takesTyped } = command;
  const words = positionals.map(({ name: word, optional, rest }) => {
    const shown = rest === true ? `${word}…` : word;
    return optional === true ? `[${shown}]` : `<${shown}>`;
  });
  const hasOptions = Object.keys(options).length > 0;
  return [
    `Usage: toolport ${[name, ...words].join(" ")}${takesCommand === true || takesTyped !== undefined ? " [-- command …]" : ""} [options]`,
    "",
    `${summary}.`,
    ...(positionals.length > 0
      ? ["", ...indent(pairs(positionals.map((word) => [word.name, word.summary])))]
      : []),
    ...(hasOptions ? ["", "Options", ...indent(pairs(optionRows(options)))] : []),
    ...(examples.length > 0 ? ["", "Examples", ...indent(pairs(examples))] : []),
    "",
    "Global options: toolport --help",
  ].join("\n");
}

const optionRows = (options: Readonly<Record<string, OptionSpec>>): [string, string][] =>
  Object.entries(options).map(([name, { short, value, summary, choices = [] }]) => [
    `${short === undefined ? "    " : `-${short}, `}--${name}${value === undefined ? "" : ` ${value}`}`,
    choices.every((choice) => summary.includes(choice)) ? summary : `${summary}: ${choices.join(", ")}`,
  ]);

/** The width without the indentation of two. */
const pairsWithin = (columns: number | undefined) => (rows: readonly (readonly [string, string])[]) =>
  formatPairs(rows, columns === undefined ? undefined : columns - 2);

const indent = (lines: readonly string[]): string[] => lines.map((line) => `  ${line}`);
