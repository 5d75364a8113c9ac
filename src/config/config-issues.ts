/** Collects every problem of a configuration, so that the user sees all of them at once. */
import { ConfigError, type ConfigIssue } from "../errors/config-error.js";

/** A place in a configuration: keys and indexes, starting at the map of servers. */
export type ConfigPath = readonly (string | number)[];

/** Finds the file and line of a path. */
export type Locate = (path: ConfigPath) => { file: string; line: number } | undefined;

const MAX_SHOWN_KEY = 64;

function segment(key: string | number): string {
  if (typeof key === "number") return `[${key}]`;
  if (/^[\w$@/-]{1,64}$/.test(key)) return `.${key}`;
  const short = key.length > MAX_SHOWN_KEY ? `${key.slice(0, MAX_SHOWN_KEY)}…` : key;
  return `[${JSON.stringify(short)}]`;
}

/** Writes a path the way it is written in code: `mcpServers.files.args[1]`. */
export function formatPath(root: string, path: ConfigPath): string {
  return `${root}${path.map(segment).join("")}`;
}

/** The problems found so far. Messages contain names only, never values, which may be secrets. */
export class ConfigIssues {
  readonly #root: string;
  readonly #locate: Locate | undefined;
  readonly #issues: ConfigIssue[] = [];

  constructor(root: string, locate?: Locate) {
    this.#root = root;
    this.#locate = locate;
  }

  add(path: ConfigPath, message: string): void {
    const place = this.#locate?.(path);
    this.#issues.push({ ...place, path: formatPath(this.#root, path), message });
  }

  get list(): readonly ConfigIssue[] {
    return this.#issues;
  }

  /** Throws one error with all problems, if there are any. */
  throwIfAny(): void {
    if (this.#issues.length === 0) return;
    throw new ConfigError({
      code: "INVALID_CONFIG",
      issues: this.#issues,
      next: "Correct the entries named above",
    });
  }
}
