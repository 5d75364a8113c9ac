/** A configuration file, read: its values and where they stand. */
import { extname } from "node:path";
import type { ConfigPath } from "../config/config-issues.js";
import { parseJsonConfig } from "./parse-json-config.js";
import { readConfigText } from "./read-config-text.js";

export interface ConfigDocument {
  readonly file: string;
  /** Everything in it, as plain values. */
  readonly root: unknown;
  /** Names that their object has twice. */
  readonly duplicates: readonly { path: ConfigPath; line: number; firstLine: number }[];
  /** 1-based line of what a path leads to, or of the last thing on the way there. */
  lineOf(path: ConfigPath): number;
}

/** @throws ConfigError with code `UNREADABLE_CONFIG`, the file and, where there is one, the line */
export async function readDocument(file: string): Promise<ConfigDocument> {
  const text = await readConfigText(file);
  if (extname(file).toLowerCase() !== ".toml") return parseJsonConfig(file, text);
  // Loaded only for those who have such a file.
  const { parseTomlConfig } = await import("./parse-toml-config.js");
  return parseTomlConfig(file, text);
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
