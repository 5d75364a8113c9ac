/** What a dialect is: how one program writes its MCP servers, and what that means in an entry of ours. */
import type { ConfigPath } from "../../config/config-issues.js";

/** The programs whose files are read. `"generic"` is a file of nobody in particular with `mcpServers` in it. */
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

/** An object of a file, as it was written. */
export type RawFields = Readonly<Record<string, unknown>>;

/** Something to say about a field, by its path in the entry of the file. */
export interface FieldNote {
  readonly path: ConfigPath;
  readonly message: string;
}

/** One entry, translated. Variables are still written out in it. */
export interface DialectEntry {
  /** A `ServerEntry`, unchecked. */
  readonly entry: Record<string, unknown>;
  /** What Toolport has no use for. */
  readonly extra: Readonly<Record<string, unknown>>;
  /** Things that will be different from what the other program does. */
  readonly warnings: readonly FieldNote[];
  /** Reasons why the server cannot be used. */
  readonly problems: readonly FieldNote[];
  /** Where something in `entry` stands in the file, where it may be called something else. */
  readonly originOf: (path: ConfigPath) => ConfigPath;
  /** Variables the process gets if they are set. */
  readonly passedVariables: readonly string[];
  /** A file with more variables for the process; those of `entry.env` win. */
  readonly envFile: string | undefined;
}

export interface Dialect {
  readonly kind: DialectKind;
  /** What the program calls itself. */
  readonly title: string;
  /** Where its files keep their servers, the usual place first. */
  readonly containers: readonly ConfigPath[];
  /** Fields of an entry by which a file of no known name is recognised. */
  readonly entryMarkers?: readonly string[];
  /** Fields of the file itself by which it is recognised. */
  readonly rootMarkers?: readonly string[];
  /** The file is about other things, too, so that having no servers is no slip. */
  readonly isSettingsFile?: boolean;
  /** `$NAME` without braces is a variable. */
  readonly bareVariables?: boolean;
  /** Pure: nothing is looked up, nothing is read. */
  readonly readEntry: (raw: RawFields) => DialectEntry;
  /** Why the file itself switches a server off, if it does. */
  readonly disabledBy?: (root: RawFields, name: string) => string | undefined;
  /** What should be said about fields of the file that are not servers. */
  readonly readRoot?: (root: RawFields) => readonly FieldNote[];
}
