/** A configuration file, read: its values and where they stand. */
import type { ConfigPath } from "../config/config-issues.js";
import { ConfigError } from "../errors/config-error.js";

export interface ConfigDocument {
  readonly file: string;
  /** Everything in it, as plain values. */
  readonly root: unknown;
  /** Names that their object has twice. */
  readonly duplicates: readonly { path: ConfigPath; line: number; firstLine: number }[];
  /** 1-based line of what a path leads to, or of the last thing on the way there. */
  lineOf(path: ConfigPath): number;
}

/** What a path leads to; only own fields count. */
export function valueAt(root: unknown, path: ConfigPath): unknown {
  let value = root;
  for (const step of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, step)) return undefined;
    value = (value as Record<string | number, unknown>)[step];
  }
  return value;
}

/** Why a file is of no use, with its line where there is one. */
export function unreadable(
  file: string,
  message: string,
  details: { line?: number | undefined; cause?: unknown } = {},
): ConfigError {
  return new ConfigError({
    code: "UNREADABLE_CONFIG",
    what: "The configuration file cannot be read",
    issues: [{ file, line: details.line, path: "", message }],
    cause: details.cause,
  });
}
