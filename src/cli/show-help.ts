/** Help texts, generated from the table of commands. */

import { formatPairs } from "../util/format-table.js";
import type { CommandSpec, OptionSpec } from "./command.js";
import { GLOBAL_OPTIONS } from "./global-options.js";

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
