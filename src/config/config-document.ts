/** A parsed configuration file: its values and their lines. */

import { ConfigError } from "../errors/config-error.js";
import type { ConfigPath } from "./config-issues.js";

export interface ConfigDocument {
  readonly file: string;
  /** The content as plain values. */
  readonly root: unknown;
  /** Keys that occur twice in their object. */
  readonly duplicates: readonly { path: ConfigPath; line: number; firstLine: number }[];
  /** 1-based line of the value at a path, or of its nearest existing parent. */
  lineOf(path: ConfigPath): number;
}

/** The value at a path; own properties only. */
export function valueAt(root: unknown, path: ConfigPath): unknown {
  let value = root;
  for (const step of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, step)) return undefined;
    value = (value as Record<string | number, unknown>)[step];
  }
  return value;
}

/** The error for a file that cannot be read. */
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
