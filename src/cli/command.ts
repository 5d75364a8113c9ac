/** A command: its row in the table of `commands.ts`, and the code that is loaded when it runs. */
import type { CommandContext } from "./command-context.js";

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
export type Completes = "server" | "tool" | "resource" | "prompt" | "file" | "none";

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
}

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

export const MODEL_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  "model-url": {
    type: "string",
    value: "<url>",
    summary: "An OpenAI-compatible or Anthropic endpoint",
  },
  model: { type: "string", value: "<name>", summary: "Name of the model" },
};
