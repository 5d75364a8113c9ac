/** Bad configuration: every problem found, each with its path and, from a file, its line. */
import { ToolportError, type ToolportErrorInit } from "./toolport-error.js";

/** One problem in a configuration. */
export interface ConfigIssue {
  /** The file it stands in, if it came from one. */
  file?: string | undefined;
  /** 1-based line in that file. */
  line?: number | undefined;
  /** Where in the configuration, e.g. `mcpServers.weather.url`. */
  path: string;
  /** What is wrong and what is expected. Never holds a secret value. */
  message: string;
}

export type ConfigErrorCode = "INVALID_CONFIG" | "UNKNOWN_SERVER" | "DUPLICATE_SERVER" | "UNREADABLE_CONFIG";

const place = (issue: ConfigIssue): string =>
  issue.file === undefined ? "" : `${issue.file}${issue.line === undefined ? "" : `:${issue.line}`}: `;

/** A file that cannot be read has problems of its own, without a path inside it. */
const where = (issue: ConfigIssue): string => (issue.path === "" ? "" : `${issue.path}: `);

/** Thrown at the door when options, a server entry or a configuration file cannot be used. */
export class ConfigError extends ToolportError<ConfigErrorCode> {
  static override readonly kind = "ConfigError";
  override readonly name = "ConfigError";
  readonly issues: readonly ConfigIssue[];

  constructor(
    init: Omit<ToolportErrorInit<ConfigErrorCode>, "what"> & {
      what?: string;
      issues?: readonly ConfigIssue[];
    },
  ) {
    const issues = init.issues ?? [];
    const list = issues.map((issue) => `\n  - ${place(issue)}${where(issue)}${issue.message}`).join("");
    super({ ...init, what: `${init.what ?? "The configuration is not valid"}${list}`, outcome: "unsent" });
    this.issues = issues;
  }
}
