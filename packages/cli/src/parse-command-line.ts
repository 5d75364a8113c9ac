/** Parses a command line, and runs the parsed command. Options and words may come in any order; errors suggest the closest known name. */
import { parseArgs } from "node:util";
import { suggest } from "@toolport/base";
import {
  type CommandSpec,
  hasTyped,
  type Invocation,
  isAddress,
  type NamedArgument,
  type OptionSpec,
  type OptionSpecs,
  toOptionValues,
} from "./command.js";
import { GLOBAL_OPTIONS, optionOf } from "./command-options.js";
import type { ContextParts } from "./create-command-context.js";
import { CliError, EXIT, usageError } from "./errors.js";
import { shellWord } from "./shell-words.js";

/** What a command line asks for. */
export type ParsedLine =
  | { readonly wants: "help"; readonly command: CommandSpec | undefined }
  | { readonly wants: "version" }
  | { readonly wants: "run"; readonly invocation: Invocation };

type Values = Record<string, string | boolean | string[] | undefined>;

/**
 * Parses the arguments after the program's name.
 *
 * @throws CliError, with a suggestion where a known name is close
 */
export function parseCommandLine(args: readonly string[], commands: readonly CommandSpec[]): ParsedLine {
  const mark = args.indexOf("--");
  const own = mark < 0 ? args : args.slice(0, mark);
  const passthrough = mark < 0 ? [] : args.slice(mark + 1);
  const name = findName(own, commands);
  const command = findCommand(name, commands);
  const specs = { ...GLOBAL_OPTIONS, ...command?.options };
  if (command?.takesCommand === true && mark < 0) hintAtMark(own, command, specs);
  const { rest, named } = command?.takesNamed === true ? takeNamed(own, specs) : { rest: own, named: [] };
  const { values, words } = readOptions(rest, specs, command);
  if (values["version"] === true) return { wants: "version" };
  if (name === "help") return { wants: "help", command: findCommand(words[1], commands) };
  if (values["help"] === true || command === undefined) return { wants: "help", command };
  const invocation = {
    command,
    commands,
    words: words.slice(1),
    passthrough,
    named,
    ...toOptionValues(values),
  };
  checkWords(invocation);
  return { wants: "run", invocation };
}

/** Finds the first word that is neither an option nor the value of one. Options may precede the command. */
function findName(args: readonly string[], commands: readonly CommandSpec[]): string | undefined {
  const specs = [GLOBAL_OPTIONS, ...commands.map(({ options }) => options)];
  for (let index = 0; index < args.length; index += 1) {
    const word = args[index]!;
    if (!word.startsWith("-") || word === "-") return word;
    if (specs.some((options) => optionOf(word, options)?.[1].type === "string")) index += 1;
  }
  return undefined;
}

function findCommand(name: string | undefined, commands: readonly CommandSpec[]): CommandSpec | undefined {
  if (name === undefined || name === "help") return undefined;
  const command = commands.find((each) => each.name === name);
  if (command !== undefined) return command;
  const listed = commands.flatMap((each) => (each.isHidden ? [] : [each.name]));
  const [close] = suggest(name, listed, 1);
  throw new CliError(
    `There is no command ${JSON.stringify(name)}${close === undefined ? "" : `. Did you mean ${close}?`}`,
    close === undefined ? "toolport --help" : `toolport ${close} --help`,
    { code: "UNKNOWN_COMMAND" },
  );
}

/** `add files npx -y foo`: without `--`, the options of the program would be read as options of this command. */
function hintAtMark(args: readonly string[], command: CommandSpec, specs: OptionSpecs): void {
  const places: number[] = [];
  for (let index = 0; index < args.length; index += 1) {
    const word = args[index]!;
    if (optionOf(word, specs)?.[1].type === "string") index += 1;
    else if (word === "-" || !word.startsWith("-")) places.push(index);
  }
  // The words are the command itself, a name, and a URL, JSON or `-`.
  const [, , start] = places;
  if (start === undefined || start === args.length - 1) return;
  const second = args[start]!;
  if (isAddress(second) || /^\s*[{$-]/.test(second)) return;
  const name = args[places[1]!]!;
  throw new CliError(
    `Write -- before the command of the server: ${second} …`,
    ["toolport", command.name, name, "--", ...args.slice(start)].map(shellWord).join(" "),
  );
}

/** Takes options that are no options of the command out of its arguments. */
function takeNamed(args: readonly string[], specs: OptionSpecs): { rest: string[]; named: NamedArgument[] } {
  const rest: string[] = [];
  const named: NamedArgument[] = [];
  for (let index = 0; index < args.length; index += 1) {
    const word = args[index]!;
    const [, name = "", inline] = /^--([a-z_][\w.-]*)(?:=(.*))?$/is.exec(word) ?? [];
    const option = optionOf(word.replace(/=.*$/s, ""), specs)?.[1];
    const next = args[index + 1];
    const hasValue = inline === undefined && next !== undefined && !isOption(next);
    if (name === "" || option !== undefined) {
      rest.push(word);
      if (option?.type === "string" && hasValue) rest.push(args[++index]!);
    } else {
      named.push({ name, text: hasValue ? next : inline, isDetached: hasValue });
      if (hasValue) index += 1;
    }
  }
  return { rest, named };
}

function readOptions(
  args: readonly string[],
  specs: OptionSpecs,
  command: CommandSpec | undefined,
): { values: Values; words: string[] } {
  const { tokens } = parseArgs({
    args: [...args],
    options: specs,
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const values: Values = {};
  const words: string[] = [];
  for (const token of tokens) {
    if (token.kind === "positional") words.push(token.value);
    if (token.kind !== "option") continue;
    const spec = specs[token.name];
    if (spec === undefined) throw unknownOption(token.rawName, specs, command);
    if (spec.type === "boolean" && token.value !== undefined)
      throw usage(`${token.rawName} takes no value`, command);
    const isMissing = token.value === undefined || (!token.inlineValue && isOption(token.value));
    if (spec.type === "string" && isMissing)
      throw usage(`${token.rawName} requires a value: ${token.rawName} ${spec.value ?? "<text>"}`, command);
    const value = spec.type === "boolean" ? true : token.value!;
    if (spec.choices !== undefined && !spec.choices.includes(String(value)))
      throw usage(`${token.rawName} must be one of ${spec.choices.join(", ")}`, command);
    if (spec.number !== undefined) checkNumber(token.rawName, String(value), spec.number, command);
    if (spec.multiple === true)
      values[token.name] = [...((values[token.name] as string[]) ?? []), String(value)];
    else values[token.name] = value;
  }
  return { values, words };
}

function checkNumber(
  option: string,
  text: string,
  { min, max, isWhole }: NonNullable<OptionSpec["number"]>,
  command: CommandSpec | undefined,
): void {
  const value = text.trim() === "" ? Number.NaN : Number(text);
  const isKind = isWhole ? Number.isInteger(value) : Number.isFinite(value);
  if (isKind && value >= min && value <= (max ?? value)) return;
  const range = max === undefined ? `, ${min} or more` : ` from ${min} to ${max}`;
  const what = `${option} requires a ${isWhole ? "whole number" : "number of milliseconds"}${range}`;
  const example = isWhole ? (max ?? 20) : 30_000;
  throw new CliError(what, `toolport ${[command?.name ?? [], option, example].flat().join(" ")}`);
}

/** A value that looks like an option needs `=`. A single `-` (stdin) and negative numbers are values. */
const isOption = (value: string): boolean => /^--?[a-z]/i.test(value);

function unknownOption(rawName: string, specs: OptionSpecs, command: CommandSpec | undefined): CliError {
  const [close] = suggest(rawName.replace(/^-+/, ""), Object.keys(specs), 1);
  return usage(
    `There is no option ${rawName}${close === undefined ? "" : `. Did you mean --${close}?`}`,
    command,
  );
}

function checkWords(invocation: Invocation): void {
  const { command, passthrough } = invocation;
  const isTyped = hasTyped(invocation);
  const isSeparate = isTyped && (passthrough.length > 0 || invocation.options["stdio"] !== undefined);
  // The server is in `--stdio` or after `--` instead of among the words.
  const words =
    isSeparate && command.takesTyped !== "tool" ? ["server", ...invocation.words] : invocation.words;
  const needed = command.positionals.filter(({ optional }) => optional !== true);
  const missing = needed[words.length];
  if (missing !== undefined && (isTyped || !(command.takesCommand === true && passthrough.length > 0)))
    throw usage(`${missing.name} is missing: ${missing.summary}`, command);
  for (const [index, { name, choices }] of command.positionals.entries()) {
    const word = words[index];
    if (word !== undefined && choices?.includes(word) === false)
      throw usage(`${name} must be one of ${choices.join(", ")}, not ${JSON.stringify(word)}`, command);
  }
  const hasRest = command.positionals.at(-1)?.rest === true;
  if (!hasRest && words.length > command.positionals.length)
    throw usage(`Too many arguments: ${words.slice(command.positionals.length).join(" ")}`, command);
  if (passthrough.length > 0 && command.takesCommand !== true && command.takesTyped === undefined)
    throw usage(`${command.name} takes no command after --`, command);
}

const usage = (message: string, command: CommandSpec | undefined): CliError =>
  command === undefined ? new CliError(message, "toolport --help") : usageError(command.name, message);

/** @throws the error of the command, or the reason of the signal */
export async function executeCommand(invocation: Invocation, parts: ContextParts): Promise<number> {
  const { signal } = parts.watch;
  const [{ createCommandContext }, runCommand] = await Promise.all([
    import("./create-command-context.js"),
    invocation.command.load(),
  ]);
  const { context, close } = createCommandContext(invocation, parts);
  const interrupted = new Promise<never>((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
  // A command that ignores the signal is abandoned: everything it uses is closed below.
  const running = runCommand(context);
  running.catch(() => {});
  try {
    return (await Promise.race([running, interrupted])) ?? EXIT.ok;
  } catch (error) {
    // After an interruption, other errors are its consequences.
    throw signal.aborted ? signal.reason : error;
  } finally {
    interrupted.catch(() => {});
    await close();
  }
}

/** Replaces servers that the user typed by names that stand for them. */
export async function readTypedServers(invocation: Invocation, cwd: string): Promise<Invocation> {
  if (!hasTyped(invocation)) return invocation;
  const { nameTypedServers } = await import("./typed-servers.js");
  return nameTypedServers(invocation, cwd);
}
