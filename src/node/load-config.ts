/** Loads the servers of a configuration file. */
import { stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import type { Node } from "jsonc-parser";
import { type ConfigPath, formatPath } from "../config/config-issues.js";
import { isRecord } from "../config/entry-reader.js";
import { parseServers } from "../config/parse-servers.js";
import { resolveCommand, resolvePath } from "../config/resolve-path.js";
import type { ServerEntry } from "../config/server-entry.js";
import { ConfigError, type ConfigIssue } from "../errors/config-error.js";
import { suggest } from "../util/suggest.js";
import { type Environment, expandVariables } from "./expand-variables.js";
import { duplicatesIn, nearestNode, propertiesOf, propertyOf, toValue } from "./json-tree.js";
import { type JsonConfig, readJsonConfig } from "./read-json-config.js";

const FILE_NAME = "toolport.json";
const CONTAINER = "mcpServers";

/** Where a server was configured. */
export interface ConfigSource {
  file: string;
  /** 1-based. */
  line: number;
}

/** The servers of a file, ready for `createToolport`. */
export interface LoadedConfig {
  mcpServers: Record<string, ServerEntry>;
  /** The files that were read, as absolute paths. */
  files: string[];
  /** Where each server was configured. */
  sources: Record<string, ConfigSource>;
}

export interface LoadConfigOptions {
  /** Where `${NAME}` is looked up. @default process.env */
  env?: Environment;
  /** Fields of an entry that somebody else checks. @default none */
  extraKeys?: readonly string[];
}

/** Checks the servers of one file; every problem is reported, each with its line. */
function checkServers(
  config: JsonConfig,
  container: Node,
  options: LoadConfigOptions,
): Record<string, unknown> {
  const issues: ConfigIssue[] = [];
  const locate = (path: ConfigPath) => ({
    file: config.file,
    line: config.lineAt(nearestNode(container, path).offset),
  });
  const report = (path: ConfigPath, message: string, node?: Node) => {
    const place = node === undefined ? locate(path) : { file: config.file, line: config.lineAt(node.offset) };
    issues.push({ ...place, path: formatPath(CONTAINER, path), message });
  };

  for (const { path, first, again } of duplicatesIn(container)) {
    report(path, `is given twice (first on line ${config.lineAt(first.offset)})`, again);
  }
  const unresolved = new Set<string>();
  const servers = toValue(container, (text, path) => {
    const expansion = expandVariables(text, options.env ?? process.env);
    for (const problem of expansion.problems) {
      report(path, problem);
      unresolved.add(formatPath(CONTAINER, path));
    }
    return expansion.text;
  });
  try {
    parseServers(servers, { path: CONTAINER, locate, extraKeys: options.extraKeys });
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    // A text whose variable is missing is wrong in other ways, too; one complaint is enough.
    issues.push(...error.issues.filter((issue) => !unresolved.has(issue.path)));
  }
  if (issues.length === 0) return servers as Record<string, unknown>;
  issues.sort((a, b) => (a.line ?? 0) - (b.line ?? 0));
  throw new ConfigError({ code: "INVALID_CONFIG", issues, next: "Correct the entries named above" });
}

/** Paths in a file are meant to be seen from that file, wherever the program runs. */
function resolvePaths(entry: unknown, baseDir: string): ServerEntry {
  const resolved: Record<string, unknown> = isRecord(entry) ? { ...entry } : {};
  if (typeof resolved.command === "string") resolved.command = resolveCommand(baseDir, resolved.command);
  if (typeof resolved.cwd === "string") resolved.cwd = resolvePath(baseDir, resolved.cwd);
  return resolved as unknown as ServerEntry;
}

function findContainer({ file, root, lineAt }: JsonConfig): Node {
  const container = propertyOf(root, CONTAINER);
  if (container !== undefined) return container;
  const names = propertiesOf(root).map(({ name }) => name);
  const [close] = suggest(CONTAINER, names, 1);
  const hint = close === undefined ? "" : ` ("${close}" is something else)`;
  throw new ConfigError({
    code: "INVALID_CONFIG",
    issues: [
      {
        file,
        line: lineAt(root.offset),
        path: CONTAINER,
        message: `is missing${hint}; it holds one entry per server`,
      },
    ],
  });
}

async function findFile(pathOrDir: string): Promise<string> {
  const path = resolve(pathOrDir);
  const isDirectory = await stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
  return isDirectory ? join(path, FILE_NAME) : path;
}

/**
 * Reads the servers of a JSON file with an `mcpServers` object, or of `toolport.json` in a directory. Comments and
 * trailing commas are welcome; `${NAME}` and `${NAME:-default}` in texts are replaced by environment variables
 * (`$${NAME}` stays as `${NAME}`), relative `cwd` and `./command` are seen from the file. Other fields of the file are
 * left alone.
 *
 * A file is taken as a whole: if anything in it is wrong, nothing is returned and one error lists every problem.
 *
 * @throws ConfigError `UNREADABLE_CONFIG` if there is no such file or it is not JSON, `INVALID_CONFIG` if an entry is
 * wrong or a variable is not set; each issue with its file and line.
 * @example
 * ```ts
 * import { createToolport } from "toolport";
 * import { loadConfig } from "toolport/node";
 *
 * await using toolport = createToolport(await loadConfig("toolport.json"));
 * ```
 */
export async function loadConfig(pathOrDir: string, options: LoadConfigOptions = {}): Promise<LoadedConfig> {
  const file = await findFile(pathOrDir);
  const config = await readJsonConfig(file);
  const container = findContainer(config);
  const servers = checkServers(config, container, options);
  const baseDir = dirname(file);
  const entries = Object.entries(servers).map(
    ([name, entry]) => [name, resolvePaths(entry, baseDir)] as const,
  );
  const sources = propertiesOf(container).map(
    ({ name, property }) => [name, { file, line: config.lineAt(property.offset) }] as const,
  );
  return {
    mcpServers: Object.fromEntries(entries),
    files: [file],
    sources: Object.fromEntries(sources),
  };
}
