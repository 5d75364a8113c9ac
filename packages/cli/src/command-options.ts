/** What the rows of commands are made of: options, arguments, and the help that is generated from them. */

import type { CommandSpec, OptionSpec, OptionSpecs, PositionalSpec } from "./command.js";
import { formatPairs } from "./format-table.js";

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

/** An option with a number. */
export const number = (
  value: string,
  summary: string,
  range: { min: number; max?: number; isWhole?: boolean },
): OptionSpec => ({ ...text(value, summary), number: { isWhole: true, ...range } });

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

export const HEADER = texts("<name: value>", "HTTP header for a URL");

export const TRANSPORT = text("<kind>", "Transport for a URL (detected automatically)", [
  "http",
  "sse",
  "websocket",
  "auto",
]);

/** Options of commands that accept a typed server. */
export const TYPED_OPTIONS: OptionSpecs = {
  stdio: text("<command>", "Start this command instead of a configured server (also: -- command)"),
  header: HEADER,
  env: texts("<name=value>", "Variable for --stdio"),
  cwd: text("<dir>", "Working directory for --stdio"),
  transport: TRANSPORT,
};

export const MODEL_OPTIONS: OptionSpecs = {
  "model-url": text("<url>", "An OpenAI-compatible or Anthropic endpoint"),
  model: text("<name>", "Name of the model"),
};

export const GLOBAL_OPTIONS: OptionSpecs = {
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
  timeout: number("<ms>", "How long to wait for a server", { min: 1, isWhole: false }),
  yes: flag("Answer yes to every question", "y"),
  quiet: flag("No progress, no warnings", "q"),
  verbose: flag("Print details on stderr", "v"),
  "no-color": flag("No colours"),
  help: flag("Show help", "h"),
  version: flag("Show the version"),
};

/** The option that a word names, which may be `-s` or `--name`. */
export const optionOf = (word: string, specs: OptionSpecs): [name: string, spec: OptionSpec] | undefined =>
  Object.entries(specs).find(([name, { short }]) => word === `--${name}` || word === `-${short}`);

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
    const label = rest === true ? `${word}…` : word;
    return optional === true ? `[${label}]` : `<${label}>`;
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

const optionRows = (options: OptionSpecs): [string, string][] =>
  Object.entries(options).map(([name, { short, value, summary, choices = [] }]) => [
    `${short === undefined ? "    " : `-${short}, `}--${name}${value === undefined ? "" : ` ${value}`}`,
    choices.every((choice) => summary.includes(choice)) ? summary : `${summary}: ${choices.join(", ")}`,
  ]);

/** The width without the indentation of two. */
const pairsWithin = (columns: number | undefined) => (rows: readonly (readonly [string, string])[]) =>
  formatPairs(rows, columns === undefined ? undefined : columns - 2);

const indent = (lines: readonly string[]): string[] => lines.map((line) => `  ${line}`);

export const PRINCIPAL_OPTION: OptionSpecs = {
  principal: text("<name>", "Act for this user, like toolport.as(name)"),
};

export const ANSWERED_BY_OPTION: OptionSpecs = {
  "answered-by": text("<name>", "Who answers, for events and audit logs (cli; in the console: console)"),
};

export const SUSPEND_OPTIONS: OptionSpecs = {
  suspend: flag("If the call has to wait for a person, save it and print its token"),
  key: text("<name>", "With --suspend: your name of the call; the same key never sends it twice"),
  ttl: text("<time>", "With --suspend: how long the call may wait, such as 36h or 2d (7d)"),
  approval: text(
    "<when>",
    "With --suspend: wait for an approval; unsafe: not for tools that a trusted server marks read-only",
    ["unsafe", "always"],
  ),
};
