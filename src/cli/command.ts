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

/** An option without a value. */
export const flag = (summary: string, short?: string): OptionSpec => ({
  type: "boolean",
  summary,
  ...(short !== undefined && { short }),
});

/** An option with a value. `choices`: the only values it accepts. */
export const text = (value: string, summary: string, choices?: readonly string[]): OptionSpec => ({
  type: "string",
  value,
  summary,
  ...(choices && { choices }),
});

/** An option with a value that may be given several times. */
export const texts = (value: string, summary: string): OptionSpec => ({
  ...text(value, summary),
  multiple: true,
});

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

export const SERVERS: PositionalSpec = { ...SERVER, summary: "Names of the servers", rest: true };

export const ARGUMENTS: PositionalSpec = {
  name: "arguments",
  summary: "Any number of key=value, key:=json or --key value",
  completes: "argument",
  optional: true,
  rest: true,
};

export const PROJECT = flag("Use ./toolport.json of this project instead of the user's own file");

export const REPLACE = flag("Replace a server of the same name");

export const REGISTRY = text("<url>", "Use this registry instead of the official one");

export const SAVE_IMAGES = {
  "save-images": text("<dir>", "Save images, audio and other binary parts of the result in this directory"),
};

/** Options of commands that accept a typed server. */
export const TYPED_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  stdio: text("<command>", "Start this command instead of a configured server (also: -- command)"),
  header: texts("<name: value>", "HTTP header for a URL"),
  env: texts("<name=value>", "Variable for --stdio"),
  cwd: text("<dir>", "Working directory for --stdio"),
  transport: text("<kind>", "Transport for a URL (detected automatically)", [
    "http",
    "sse",
    "websocket",
    "auto",
  ]),
};

export const MODEL_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  "model-url": text("<url>", "An OpenAI-compatible or Anthropic endpoint"),
  model: text("<name>", "Name of the model"),
};

export const GLOBAL_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  json: flag("Print one JSON document on stdout, and errors as one JSON line on stderr"),
  output: text("<form>", "Output format: text, json (same as --json) or raw (only the data)", [
    "text",
    "json",
    "raw",
  ]),
  config: {
    ...texts("<path>", "Configuration file, or a directory with one, in any known dialect"),
    short: "c",
  },
  state: text("<path>", "State file"),
  "no-state": flag("Keep state in memory only"),
  timeout: text("<ms>", "How long to wait for a server"),
  yes: flag("Answer yes to every question", "y"),
  quiet: flag("No progress, no warnings", "q"),
  verbose: flag("Print details on stderr", "v"),
  "no-color": flag("No colours"),
  help: flag("Show help", "h"),
  version: flag("Show the version"),
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

export const PRINCIPAL_OPTION: Readonly<Record<string, OptionSpec>> = {
  principal: text("<name>", "Act for this user, like toolport.as(name)"),
};

export const ANSWERED_BY_OPTION: Readonly<Record<string, OptionSpec>> = {
  "answered-by": text("<name>", "Who answers, for events and audit logs (cli; in the console: console)"),
};

export const SUSPEND_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  suspend: flag("If the call has to wait for a person, save it and print its token"),
  key: text("<name>", "With --suspend: your name of the call; the same key never sends it twice"),
  ttl: text("<time>", "With --suspend: how long the call may wait, such as 36h or 2d (7d)"),
  approval: text(
    "<when>",
    "With --suspend: wait for an approval; unsafe: not for tools that a trusted server marks read-only",
    ["unsafe", "always"],
  ),
};
