/** A dialect: the configuration format of one program, and its translation to Toolport's entries. */
import type { ConfigPath } from "../../config/config-issues.js";

/** The programs whose files are supported. `"generic"` is any other file with `mcpServers`. */
export type DialectKind =
  | "toolport"
  | "claude-code"
  | "claude-desktop"
  | "cursor"
  | "vscode"
  | "copilot-cli"
  | "windsurf"
  | "zed"
  | "codex"
  | "gemini-cli"
  | "opencode"
  | "cline"
  | "mcporter"
  | "inspector"
  | "langchain"
  | "generic";

/** An object of a file. */
export type RawFields = Readonly<Record<string, unknown>>;

/** A message about a field, with its path in the entry of the file. */
export interface FieldNote {
  readonly path: ConfigPath;
  readonly message: string;
}

/** A translated entry with unexpanded variables. */
export interface DialectEntry {
  /** An unvalidated `ServerEntry`. */
  readonly entry: Record<string, unknown>;
  /** Fields that Toolport does not use. */
  readonly extra: Readonly<Record<string, unknown>>;
  /** Differences from the behaviour of the other program. */
  readonly warnings: readonly FieldNote[];
  /** Reasons why the server cannot be used. */
  readonly problems: readonly FieldNote[];
  /** Maps a path in `entry` to the path in the file. */
  readonly originOf: (path: ConfigPath) => ConfigPath;
  /** Environment variables to pass to the process if they are set. */
  readonly passedVariables: readonly string[];
  /** A file with more variables for the process. `entry.env` takes precedence. */
  readonly envFile: string | undefined;
}

export interface Dialect {
  readonly kind: DialectKind;
  /** Name of the program in messages. */
  readonly title: string;
  /** Paths of the servers in its files, the usual one first. */
  readonly containers: readonly ConfigPath[];
  /** Fields of an entry that identify the dialect of a file with an unknown name. */
  readonly entryMarkers?: readonly string[];
  /** Top-level fields that identify the dialect. */
  readonly rootMarkers?: readonly string[];
  /** The file also contains other settings, so it may have no servers. */
  readonly isSettingsFile?: boolean;
  /** `$NAME` without braces is a variable. */
  readonly bareVariables?: boolean;
  /** Translates an entry. Pure: reads no files or variables. */
  readonly readEntry: (raw: RawFields) => DialectEntry;
  /** The setting of the file that disables a server, if any. */
  readonly disabledBy?: (root: RawFields, name: string) => string | undefined;
  /** Warnings about top-level fields that are not servers. */
  readonly readRoot?: (root: RawFields) => readonly FieldNote[];
}
