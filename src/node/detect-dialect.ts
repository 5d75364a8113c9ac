/** Detects the dialect of a file from its content, and finds the servers in it. */

import type { ConfigPath } from "../config/option-table.js";
import { type ConfigDocument, valueAt } from "../config/parse-json-config.js";
import { isRecord } from "../util/json.js";
import type { Dialect, DialectKind, RawFields } from "./dialects/dialect.js";
import { DIALECT_KINDS, dialectOf, findClaudeProject } from "./dialects/dialects.js";

/** Keys that contain servers, the most reliable first. */
const CONTAINERS: readonly (readonly [ConfigPath, DialectKind])[] = [
  [["mcpServers"], "generic"],
  [["servers"], "vscode"],
  [["context_servers"], "zed"],
  [["mcp", "servers"], "vscode"],
  [["mcp"], "opencode"],
  [["mcp_servers"], "codex"],
];

/** Fields that only server entries have. */
const SERVER_FIELDS = ["command", "url", "image", "httpUrl", "serverUrl", "baseUrl", "base_url", "sseUrl"];

const asRecord = (value: unknown): RawFields => (isRecord(value) ? value : {});

/** Detects the dialect of a file with an unknown name. */
export function detectDialect({ root }: ConfigDocument): Dialect {
  const fields = asRecord(root);
  const [container = [], kind = "generic" as const] =
    CONTAINERS.find(([path]) => isRecord(valueAt(root, path))) ?? [];
  if (kind !== "generic") return dialectOf(kind);
  const entries = Object.values(asRecord(valueAt(root, container))).map(asRecord);
  const has = (keys: readonly string[] = [], records: readonly RawFields[] = []) =>
    records.some((record) => keys.some((key) => Object.hasOwn(record, key)));
  const detected = DIALECT_KINDS.map(dialectOf).find(
    ({ rootMarkers, entryMarkers }) => has(rootMarkers, [fields]) || has(entryMarkers, entries),
  );
  return detected ?? dialectOf("generic");
}

/** An object in a file that contains servers. */
export interface ServerContainer {
  readonly path: ConfigPath;
  /** The object around it: the file, or its section about one project. */
  readonly around: RawFields;
}

/** All objects with servers, in order of precedence. */
export function findContainers(
  { root }: ConfigDocument,
  dialect: Dialect,
  options: { folders: readonly string[]; allowBareMap: boolean },
): ServerContainer[] {
  const around = asRecord(root);
  const found: ServerContainer[] = [];
  if (dialect.kind === "claude-code") {
    const project = findClaudeProject(root, options.folders);
    const path = ["projects", project ?? "", "mcpServers"];
    if (project !== undefined && valueAt(root, path) !== undefined) {
      found.push({ path, around: asRecord(valueAt(root, ["projects", project])) });
    }
  }
  // Users paste entries of other programs: accept the keys of all dialects.
  const others = dialect.isSettingsFile === true ? [] : CONTAINERS.map(([path]) => path);
  const paths = [...(dialect.containers ?? [["mcpServers"]]), ...others];
  const path = paths.find((candidate) => valueAt(root, candidate) !== undefined);
  if (path !== undefined) found.push({ path, around });
  else if (found.length === 0 && options.allowBareMap && isBareMap(around)) found.push({ path: [], around });
  return found;
}

/** True if the file is a map of servers without a key around it. */
function isBareMap(root: RawFields): boolean {
  const entries = Object.values(root);
  return (
    entries.length > 0 &&
    entries.every((entry) => isRecord(entry) && SERVER_FIELDS.some((field) => Object.hasOwn(entry, field)))
  );
}
