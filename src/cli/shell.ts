/** What a command has to work with: where it may write, what the user said, and a port to the servers. */
import type { ServerEntry } from "../config/server-entry.js";
import type { ConfigIssue } from "../errors/config-error.js";
import type { ConfigSource } from "../node/config-source.js";
import type { LoadedConfig } from "../node/load-config.js";
import type { WrittenServer } from "../node/read-servers.js";
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

/** The servers of the files as they are written: nothing of them is expanded, read or looked up. */
export interface WrittenServers {
  /** By name; those whose entry is wrong are not among them. */
  readonly servers: ReadonlyMap<string, WrittenServer>;
  readonly files: readonly string[];
  readonly issues: readonly ConfigIssue[];
}

/** Servers that may be used, and those that may not. */
export interface LoadedServers {
  /** What the files say, problems included; `mcpServers` holds only servers that may be used. */
  readonly config: LoadedConfig;
  /** Where each server comes from, those left out included. */
  readonly sources: Readonly<Record<string, ConfigSource>>;
  /** Servers of a project's file that were not expanded: the user has not agreed to them, or the file switches them off. */
  readonly leftOut: ReadonlyMap<string, CliError>;
  /** One error for all servers that the user has not agreed to; undefined if there is none. */
  readonly refusal: CliError | undefined;
}

/** A port made from the user's files, options and saved state. */
export interface OpenedPort {
  readonly toolport: Toolport;
  /** Where each configured server comes from; a server that is not here comes from the store. */
  readonly sources: Readonly<Record<string, ServerOrigin>>;
  /** Servers that are not in the port, with the error that says why: see {@link LoadedServers}. */
  readonly leftOut: LoadedServers["leftOut"];
  readonly refusal: LoadedServers["refusal"];
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
  /**
   * What to do without a terminal if the user has not agreed to a server: fail before anything is started or contacted,
   * or make the port without it.
   * @default "throw"
   */
  readonly onRefused?: "throw" | "leaveOut";
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
  /** Gives the space of deleted records back. */
  compact(): Promise<void>;
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
  /** The servers of `--config`, or of the files that are found, as they are written. Problems are in `issues`. */
  readServers(): Promise<WrittenServers>;
  /**
   * Expands servers (all, if none are named), after the user agreed to those of a project's file.
   *
   * `mayAsk: false`: nothing is asked, only what was agreed to before counts. @default true
   */
  loadServers(names?: readonly string[], options?: { mayAsk?: boolean }): Promise<LoadedServers>;
  /** Remembers that the user wrote these servers of a file, or saw them before they were written. */
  trustServers(names: readonly string[], file: string): Promise<void>;
  /** Opens the state once. Closed when the command ends. */
  openStore(): Promise<OpenedStore>;
  /** Loads configuration, state and trust, and makes a port. Closed when the command ends. */
  openPort(options?: OpenPortOptions): Promise<OpenedPort>;
  /** Something to do when the command ends, in whatever way; the last comes first. */
  onExit(run: () => Promise<void> | void): void;
}
