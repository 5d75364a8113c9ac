/** A command: its row in the table of `commands.ts`, its parsed command line, and what it works with when it runs. */
import type { Readable, Writable } from "node:stream";
import type { ConfigIssue } from "@toolport/base";
import type { LoadedConfig } from "@toolport/config";
import type { ConfigSource, WrittenServer } from "@toolport/config/internal";
import type { CallToolOptions, ServerEntry, Toolport, ToolportOptions } from "@toolport/core";
import type { Store } from "@toolport/stores";
import type { CliError } from "./errors.js";
import type { TableColumn } from "./format-table.js";
import type { Colour, Paint } from "./plain-text.js";

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
  /** It accepts only numbers. @default any text */
  readonly number?: { readonly min: number; readonly max?: number; readonly isWhole: boolean };
}

/** Options by name. */
export type OptionSpecs = Readonly<Record<string, OptionSpec>>;

/** What a positional argument names; shell completion offers the known values. */
export type Completes = "server" | "tool" | "argument" | "resource" | "prompt";

export interface PositionalSpec {
  readonly name: string;
  readonly summary: string;
  /** @default nothing of Toolport's: the shell offers files */
  readonly completes?: Completes | undefined;
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
  readonly options: OptionSpecs;
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

/** Runs a command and resolves with the exit code (0). `run-command-line.ts` prints the error it throws. */
export type RunCommand = (context: CommandContext) => Promise<number | undefined>;

/** A parsed command line. */
export interface Invocation extends OptionValues {
  readonly command: CommandSpec;
  /** The table that the command was found in. */
  readonly commands: readonly CommandSpec[];
  /** Positional arguments, in order. */
  readonly words: readonly string[];
  /** The words after `--`. */
  readonly passthrough: readonly string[];
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
export const hasTyped = ({ command, words, passthrough, options }: Invocation): boolean =>
  command.takesTyped !== undefined &&
  (passthrough.length > 0 ||
    options["stdio"] !== undefined ||
    words.slice(0, command.takesTyped === "servers" ? undefined : 1).some(isAddress));

/** The options of a command line, and the ways to read them. */
export interface OptionValues {
  /** Options of the command and global options. */
  readonly options: Readonly<Record<string, string | boolean | readonly string[] | undefined>>;
  /** The value of an option; undefined if it was not given. */
  text(option: string): string | undefined;
  /** The value of an option that accepts only numbers. */
  number(option: string): number | undefined;
  /** The values of an option that may be given several times. */
  texts(option: string): readonly string[];
  /** An option without a value was given. */
  flag(option: string): boolean;
}

export const toOptionValues = (options: OptionValues["options"]): OptionValues => ({
  options,
  text: (option) => [options[option]].find((value) => typeof value === "string"),
  number: (option) => (options[option] === undefined ? undefined : Number(options[option])),
  texts: (option) => [options[option] ?? []].flat().filter((value) => typeof value === "string"),
  flag: (option) => options[option] === true,
});

/** The `--config` and `--state` options as the user typed them. */
export function locationOptions({ text, texts }: OptionValues): string[] {
  const state = text("state");
  return [
    ...texts("config").flatMap((path) => ["--config", path]),
    ...(state === undefined ? [] : ["--state", state]),
  ];
}

/** Output format of data. */
export type OutputForm = "text" | "json" | "raw";

/** Where a server comes from: a file and line, or the store. */
export interface ServerOrigin {
  readonly file?: string;
  readonly line?: number;
  readonly kind: string;
}

/** The server entries of the configuration files, without expanding variables or reading files they refer to. */
export interface WrittenServers {
  /** By name. Servers with an invalid entry are missing. */
  readonly servers: ReadonlyMap<string, WrittenServer>;
  readonly files: readonly string[];
  readonly issues: readonly ConfigIssue[];
}

/** Expanded servers, and the servers that may not be used. */
export interface LoadedServers {
  /** The loaded files, with their issues. `mcpServers` contains only servers that may be used. */
  readonly config: LoadedConfig;
  /** Where each server comes from, including the servers in `leftOut`. */
  readonly sources: Readonly<Record<string, ConfigSource>>;
  /** Servers of a project file that were not expanded: the user has not consented, or the file disables them. */
  readonly leftOut: ReadonlyMap<string, CliError>;
  /** One error for all servers without consent; undefined if there are none. */
  readonly consentError: CliError | undefined;
}

/** A port created from the user's files, options and saved state. */
export interface OpenedPort extends Omit<LoadedServers, "sources"> {
  readonly toolport: Toolport;
  /** Where each configured server comes from. A server without an entry comes from the store. */
  readonly sources: Readonly<Record<string, ServerOrigin>>;
  /** Servers of the port that come from the saved state. */
  readonly saved: readonly string[];
  /** Undefined if the state is in memory. */
  readonly statePath: string | undefined;
  readonly store: Store;
}

export interface OpenPortOptions {
  /**
   * Limits the port to these servers and their fallbacks. Other servers are not started, and the user is not asked about
   * them. A function receives all names and returns the chosen ones, or undefined for all.
   * @default all, also for an empty list
   */
  readonly servers?: readonly string[] | ((names: readonly string[]) => readonly string[] | undefined);
  /**
   * What to do without a terminal if the user has not consented to a server: throw before any server is started or
   * contacted, or create the port without it.
   * @default "throw"
   */
  readonly onMissingConsent?: "throw" | "leaveOut";
  /** Create a port without servers if none is configured. @default false: throw */
  readonly mayBeEmpty?: boolean;
  /** The port of this user, like `toolport.as(name)`. @default the plain port */
  readonly principal?: string | undefined;
  /** The options or entries are special to this command: a shell must not use its own port. @default false */
  readonly isSpecial?: boolean;
  /** Questions of servers are asked at the terminal, if there is one. @default true */
  readonly asksOnTerminal?: boolean;
  /** Changes an entry before it is used. @default none */
  readonly changeEntry?: (entry: ServerEntry, name: string) => ServerEntry;
  /** More options of `createToolport`. @default none */
  readonly options?: Omit<ToolportOptions, "mcpServers" | "store">;
}

/** The opened state. */
export interface OpenedStore {
  readonly store: Store;
  /** Undefined if the state is in memory. */
  readonly statePath: string | undefined;
  /** Frees the disk space of deleted records. */
  compact(): Promise<void>;
}

/** Servers that the user typed instead of naming a configured one. Typing them is consent. */
export interface TypedServers {
  /** By the name that stands for them in this command. */
  readonly entries: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  /** Replaces the name in a suggested command by what the user typed. Values of headers and variables are left out. */
  commandFor(line: string): string;
}

/** Streams of the process. */
export interface Streams {
  readonly stdin: Readable & { readonly isTTY?: boolean };
  readonly stdout: Writable & { readonly isTTY?: boolean; readonly columns?: number };
  readonly stderr: Writable & { readonly isTTY?: boolean; readonly columns?: number };
}

/** A list in all forms of output. */
export interface PrintedList {
  readonly document: unknown;
  readonly names: readonly string[];
  readonly titles: readonly (string | TableColumn)[];
  readonly rows: readonly (readonly unknown[])[];
  /** What is said of an empty list. */
  readonly none: string;
}

/** How a command prints. */
export interface CommandOutput {
  readonly form: OutputForm;
  readonly isQuiet: boolean;
  readonly isVerbose: boolean;
  readonly paint: Paint;
  /** Width of the terminal that shows stdout; undefined if it is none. */
  readonly columns: number | undefined;
  /** Prints data on stdout. Control characters are escaped, unless the form is raw and stdout is not a terminal. */
  print(text: string): void;
  /** Prints lines whose texts were escaped before they were coloured. */
  printPainted(lines: readonly string[]): void;
  /** Prints a table: escapes every cell to one line, with the first column in bold. */
  printRows(titles: readonly (string | TableColumn)[], rows: readonly (readonly unknown[])[]): void;
  /** Prints a list in the form that the user wants: a document, one name on each line, or a table. */
  printList(list: PrintedList): void;
  /** Prints the JSON document of a command with `--json`. With `isLine`: one line of NDJSON. */
  printJson(value: unknown, options?: { isLine?: boolean }): undefined;
  /** Writes bytes unchanged to stdout. Throws if stdout is a terminal. */
  printBytes(bytes: Uint8Array): Promise<void>;
  /**
   * Prints messages that are not data on stderr, one array element per line. Line breaks inside a line are escaped.
   * Prints nothing with `--json` unless `--verbose` is given: stderr then contains errors only.
   */
  info(lines: string | readonly string[], colour?: Colour): void;
  /** Like `info`, with the prefix `warning:`. Prints nothing with `--quiet`. */
  warn(lines: string | readonly string[]): void;
  /** Shows a spinner on a terminal while `run` works; it may change the text. */
  progress<Result>(text: string, run: (update: (text: string) => void) => Promise<Result>): Promise<Result>;
}

/** The parsed command line, and everything a command uses. */
export interface CommandContext extends Invocation, CommandOutput {
  readonly streams: Streams;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** Where the search for files starts from. */
  readonly surroundings: Pick<CommandContext, "cwd" | "env"> & { readonly home?: string };
  /** The user can be asked: stdin and stderr are terminals, and the output is not JSON. */
  readonly isInteractive: boolean;
  /** `--yes` was given. */
  readonly agreesToAll: boolean;
  readonly timeoutMs: number | undefined;
  /** The signal and the timeout of this command, for a request to a server. */
  readonly callOptions: Pick<CallToolOptions, "signal" | "timeoutMs">;
  /** Aborted by Ctrl-C and SIGTERM. */
  readonly signal: AbortSignal;
  /** Asks a yes/no question. True with `--yes`; false without a terminal. */
  confirm(question: string): Promise<boolean>;
  /** Asks for one line of text; undefined without a terminal. `isSecret`: the input is not echoed. */
  ask(question: string, options?: { isSecret?: boolean }): Promise<string | undefined>;
  readAllInput(): Promise<string>;
  /** Reads the servers of `--config`, or of the files found for this project and user. Problems are in `issues`. */
  readServers(): Promise<WrittenServers>;
  /**
   * Expands servers (all, if `names` is missing). Asks the user for consent to servers of a project file first.
   *
   * `mayAsk: false`: asks nothing and uses saved consent only. @default true
   */
  loadServers(names?: readonly string[], options?: { mayAsk?: boolean }): Promise<LoadedServers>;
  /** Saves the user's consent to these servers of a file. */
  trustServers(names: readonly string[], file: string): Promise<void>;
  /** Opens the state. Later calls return the same store. It is closed when the command ends. */
  openStore(): Promise<OpenedStore>;
  /** Loads configuration, state and consent, and creates a port. It is closed when the command ends. */
  openPort(options?: OpenPortOptions): Promise<OpenedPort>;
  /** Registers a cleanup. Cleanups run in reverse order when the command ends, also after an error. */
  onExit(run: () => Promise<void> | void): void;
}
