/** What a command has to work with: where it may write, what the user said, and a port to the servers. */
import type { ServerEntry } from "../config/server-entry.js";
import type { LoadedConfig } from "../node/load-config.js";
import type { ToolportOptions } from "../port/options.js";
import type { Store } from "../state/store.js";
import type { Toolport } from "../toolport.js";
import type { CliError } from "./cli-error.js";
import type { Colour, Paint } from "./colours.js";

/** How data is printed. */
export type OutputForm = "text" | "json" | "raw";

/** Where a server comes from: a file and line, or the store. */
export interface ServerOrigin {
  readonly file?: string;
  readonly line?: number;
  readonly kind: string;
}

/** A port made from the user's files, options and saved state. */
export interface OpenedPort {
  readonly toolport: Toolport;
  /** Where each configured server comes from; a server that is not here comes from the store. */
  readonly sources: Readonly<Record<string, ServerOrigin>>;
  /** Servers that stay down because nobody has agreed to them, with the error that says what to do. */
  readonly untrusted: Readonly<Record<string, CliError>>;
  /** What the files say, problems included. */
  readonly config: LoadedConfig;
  /** Undefined if state is kept in memory. */
  readonly statePath: string | undefined;
  readonly store: Store;
}

export interface OpenPortOptions {
  /**
   * Only these servers (and those they fall back to) are known to the port: processes of others are not started, and
   * nobody is asked about them. A function chooses among the names there are; undefined: all.
   * @default all
   */
  readonly servers?: readonly string[] | ((names: readonly string[]) => readonly string[] | undefined);
  /** Changes an entry before it is used. @default none */
  readonly changeEntry?: (entry: ServerEntry, name: string) => ServerEntry;
  /** More options of `createToolport`. @default none */
  readonly options?: Omit<ToolportOptions, "mcpServers" | "store">;
}

/** Where state is kept. */
export interface OpenedStore {
  readonly store: Store;
  /** Undefined if it is kept in memory. */
  readonly statePath: string | undefined;
}

export interface Shell {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly form: OutputForm;
  /** Somebody can be asked: input and stderr are a terminal, and nobody asked for JSON. */
  readonly isInteractive: boolean;
  readonly isQuiet: boolean;
  readonly isVerbose: boolean;
  /** `--yes` was given. */
  readonly agreesToAll: boolean;
  readonly timeoutMs: number | undefined;
  /** Aborted by Ctrl-C and SIGTERM. */
  readonly signal: AbortSignal;
  readonly paint: Paint;
  /** Data, to stdout. Made plain, unless the form is raw and stdout is no terminal. */
  print(text: string): void;
  /** Lines put together from cells that were made plain before they were painted. */
  printPainted(lines: readonly string[]): void;
  /** The one JSON document of a command with `--json`; with `isLine`, a line of NDJSON. */
  printJson(value: unknown, options?: { isLine?: boolean }): void;
  /** Bytes as they are, to stdout. Refused on a terminal. */
  printBytes(bytes: Uint8Array): Promise<void>;
  /**
   * Everything that is not data, to stderr: one line, or several that are given one by one. Line breaks inside a line are
   * spelled out. Nothing with `--json`, whose stderr holds errors only, unless `--verbose`.
   */
  tell(lines: string | readonly string[], colour?: Colour): void;
  /** As `tell`, unless `--quiet`. */
  warn(lines: string | readonly string[]): void;
  /** Shows that something goes on, on a terminal; `done` ends it. */
  progress(text: string): { update(text: string): void; done(): void };
  /** Asks yes or no. Without a terminal: the answer of `--yes`. */
  confirm(question: string): Promise<boolean>;
  /** Asks for a text, on one line; undefined without a terminal. `isSecret`: it is not shown. */
  ask(question: string, options?: { isSecret?: boolean }): Promise<string | undefined>;
  readAllInput(): Promise<string>;
  /** The servers of `--config`, or of the files that are found. Problems are in `issues`. */
  loadServers(): Promise<LoadedConfig>;
  /** Opens the state once. Closed when the command ends. */
  openStore(): Promise<OpenedStore>;
  /** Loads configuration, state and trust, and makes a port. Closed when the command ends. */
  openPort(options?: OpenPortOptions): Promise<OpenedPort>;
  /** Something to do when the command ends, in whatever way; the last comes first. */
  onExit(run: () => Promise<void> | void): void;
}
