/** Invalid configuration: lists every problem with its path and, if it comes from a file, its line. */
import { ToolportError, type ToolportErrorInit } from "./toolport-error.js";

/** One problem in a configuration. */
export interface ConfigIssue {
  /** The file that contains the problem, if the configuration comes from one. */
  file?: string | undefined;
  /** 1-based line in that file. */
  line?: number | undefined;
  /** Where in the configuration, e.g. `mcpServers.weather.url`. */
  path: string;
  /** What is wrong and what is expected. Never contains a secret value. */
  message: string;
}

export type ConfigErrorCode = "INVALID_CONFIG" | "UNKNOWN_SERVER" | "DUPLICATE_SERVER" | "UNREADABLE_CONFIG";

const fileOf = (issue: ConfigIssue): string =>
  issue.file === undefined ? "" : `${issue.file}${issue.line === undefined ? "" : `:${issue.line}`}: `;

/** An unreadable file has problems without a path. */
const pathOf = (issue: ConfigIssue): string => (issue.path === "" ? "" : `${issue.path}: `);

/** Thrown before anything is started when options, a server entry or a configuration file are invalid. */
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
    const list = issues.map((issue) => `\n  - ${fileOf(issue)}${pathOf(issue)}${issue.message}`).join("");
    super({ ...init, what: `${init.what ?? "The configuration is not valid"}${list}`, outcome: "unsent" });
    this.issues = issues;
  }
}
