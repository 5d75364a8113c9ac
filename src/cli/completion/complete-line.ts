/** Computes completion candidates for the last word of a command line, from the table of commands. */
import { isRecord } from "../../config/entry-reader.js";
import type { CommandSpec, Completes, OptionSpec } from "../command.js";
import { PROGRAMS } from "../config/programs.js";
import { GLOBAL_OPTIONS } from "../global-options.js";
import { oneLine } from "../plain-text.js";

export interface Candidate {
  readonly value: string;
  /** A short description. */
  readonly meaning: string;
}

/** Looks up names in the configuration files and saved lists. Called at most once per line. */
export type LookUp = (kind: Completes, words: readonly string[]) => Promise<readonly Candidate[]>;

/** @param line all words after the program's name; the last one is incomplete and may be empty */
export async function completeLine(
  line: readonly string[],
  commands: readonly CommandSpec[],
  lookUp: LookUp,
): Promise<Candidate[]> {
  const current = line.at(-1) ?? "";
  const before = line.slice(0, -1);
  // The words after `--` belong to another program.
  if (before.includes("--")) return [];
  const shown = commands.filter(({ isHidden }) => isHidden !== true);
  const { command, words, openOption } = readBefore(before, shown);
  const specs = { ...GLOBAL_OPTIONS, ...command?.options };
  const candidates = async (): Promise<readonly Candidate[]> => {
    if (openOption !== undefined) return optionValues(openOption, specs[openOption]!, lookUp, words);
    const equals = /^--([^=]+)=/.exec(current);
    if (equals !== null) {
      const spec = specs[equals[1]!];
      const values = spec === undefined ? [] : await optionValues(equals[1]!, spec, lookUp, words);
      return values.map(({ value, meaning }) => ({ value: `${equals[0]}${value}`, meaning }));
    }
    if (current.startsWith("-")) {
      const named = command?.takesNamed === true ? await lookUp("argument", words) : [];
      const flags = named.map(({ value, meaning }) => ({ value: `--${value.replace(/=.*$/, "")}`, meaning }));
      return [...optionNames(specs, before), ...flags];
    }
    if (command === undefined) return commandNames(shown);
    return positionalValues(command, words, lookUp);
  };
  return (await candidates()).filter(({ value }) => value.startsWith(current) && isTypable(value));
}

/** Names come from untrusted files. Leave out values that a shell would interpret. */
const isTypable = (value: string): boolean => /^[\w@%+=:,./-]+$/.test(value) && value.length < 200;

function readBefore(before: readonly string[], commands: readonly CommandSpec[]) {
  let command: CommandSpec | undefined;
  let openOption: string | undefined;
  const words: string[] = [];
  for (const word of before) {
    if (openOption !== undefined) {
      openOption = undefined;
      continue;
    }
    const specs: Readonly<Record<string, OptionSpec>> = { ...GLOBAL_OPTIONS, ...command?.options };
    const found = Object.entries(specs).find(
      ([name, { short }]) => word === `--${name}` || word === `-${short}`,
    );
    if (found !== undefined) openOption = found[1].type === "string" ? found[0] : undefined;
    else if (word.startsWith("-") && word !== "-") continue;
    else if (command !== undefined) words.push(word);
    else {
      command = commands.find(({ name }) => name === word);
      if (command === undefined) return { command, words: [word], openOption };
    }
  }
  return { command, words, openOption };
}

async function optionValues(
  name: string,
  { choices }: OptionSpec,
  lookUp: LookUp,
  words: readonly string[],
): Promise<readonly Candidate[]> {
  if (choices !== undefined) return choices.map((value) => ({ value, meaning: "" }));
  if (name === "from") return Object.keys(PROGRAMS).map((value) => ({ value, meaning: "its files" }));
  return name === "server" ? lookUp("server", words) : [];
}

const optionNames = (specs: Readonly<Record<string, OptionSpec>>, before: readonly string[]): Candidate[] =>
  Object.entries(specs)
    .filter(([name, { multiple }]) => multiple === true || !before.includes(`--${name}`))
    .map(([name, { summary }]) => ({ value: `--${name}`, meaning: summary }));

const commandNames = (commands: readonly CommandSpec[]): Candidate[] => [
  ...commands.map(({ name, summary }) => ({ value: name, meaning: summary })),
  { value: "help", meaning: "Show help" },
];

async function positionalValues(
  { positionals }: CommandSpec,
  words: readonly string[],
  lookUp: LookUp,
): Promise<readonly Candidate[]> {
  const last = positionals.at(-1);
  const spec = positionals[words.length] ?? (last?.rest === true ? last : undefined);
  if (spec === undefined) return [];
  if (spec.choices !== undefined) return spec.choices.map((value) => ({ value, meaning: "" }));
  if (spec.completes === "none" || spec.completes === "file") return [];
  const found = await lookUp(spec.completes, words);
  // Do not offer a value twice.
  return spec.rest === true ? found.filter(({ value }) => !words.includes(value)) : found;
}

/** Values of a property that are worth offering. */
const MAX_VALUES = 12;

/**
 * `city=` for each argument that is not given yet, or `unit=metric` for each of its values if there are few. No values if one of them cannot
 * be offered: the others would look like all of them, and a single one would be filled in.
 */
export function argumentCandidates(schema: unknown, given: readonly string[]): Candidate[] {
  const properties = isRecord(schema) && isRecord(schema["properties"]) ? schema["properties"] : {};
  const used = new Set(given.map((word) => word.replace(/:?=.*$/s, "")));
  return Object.entries(properties).flatMap(([name, property]): Candidate[] => {
    if (used.has(name)) return [];
    const { type, enum: listed, description } = isRecord(property) ? property : {};
    const values: unknown = type === "boolean" ? [true, false] : listed;
    const meaning = typeof description === "string" ? oneLine(description, 60) : "";
    const areOffered =
      Array.isArray(values) &&
      values.length <= MAX_VALUES &&
      values.every((value) => isTypable(String(value)));
    if (!areOffered) return [{ value: `${name}=`, meaning }];
    return values.map((value) => ({ value: `${name}=${String(value)}`, meaning }));
  });
}
