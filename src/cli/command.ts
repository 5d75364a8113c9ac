/** What a command is: a row of the table in `commands.ts`, and a module that is loaded when it is run. */
import type { Shell } from "./shell.js";

/** One option of a command. */
export interface OptionSpec {
  readonly type: "boolean" | "string";
  readonly short?: string;
  /** May be given several times. */
  readonly multiple?: boolean;
  /** What stands for its value in the help: `<ms>`. */
  readonly value?: string;
  readonly summary: string;
  /** The only values it takes. */
  readonly choices?: readonly string[];
}

/** What a word on the command line stands for; shell completion offers what there is of it. */
export type Completes = "server" | "tool" | "resource" | "prompt" | "file" | "none";

export interface PositionalSpec {
  readonly name: string;
  readonly summary: string;
  readonly completes: Completes;
  readonly optional?: boolean;
  /** Takes all words that are left. */
  readonly rest?: boolean;
  /** The only words it takes. */
  readonly choices?: readonly string[];
}

export interface CommandSpec {
  readonly name: string;
  /** One line for the list of commands. */
  readonly summary: string;
  readonly group: "servers" | "use" | "look" | "program";
  readonly positionals: readonly PositionalSpec[];
  readonly options: Readonly<Record<string, OptionSpec>>;
  /** Whole command lines, with what they do. */
  readonly examples: readonly (readonly [line: string, what: string])[];
  /** Everything behind `--` belongs to another program. */
  readonly takesCommand?: boolean;
  /** For programs only: neither help nor completion names it. */
  readonly isHidden?: boolean;
  /** Loaded only when it is run: `--help` must be quick. */
  readonly load: () => Promise<CommandModule>;
}

export interface CommandModule {
  /** Runs the command. Gives back the exit code. Errors are told by `main.ts`. */
  run(invocation: Invocation, shell: Shell): Promise<number>;
}

/** A command line after it was read. */
export interface Invocation {
  readonly command: CommandSpec;
  /** Positional words, in order. */
  readonly words: readonly string[];
  /** What stood behind `--`. */
  readonly behind: readonly string[];
  /** Options of the command and the global ones. */
  readonly options: Readonly<Record<string, string | boolean | readonly string[] | undefined>>;
}

/** The text of an option that takes one. */
export function textOption({ options }: Invocation, name: string): string | undefined {
  const value = options[name];
  return typeof value === "string" ? value : undefined;
}

/** The texts of an option that may be given several times. */
export function textsOption({ options }: Invocation, name: string): readonly string[] {
  const value = options[name];
  if (typeof value === "string") return [value];
  return Array.isArray(value) ? value : [];
}

export const flagOption = ({ options }: Invocation, name: string): boolean => options[name] === true;
