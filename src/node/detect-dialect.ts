/** Recognises whose file it is by what is in it, and finds the servers in it. */
import type { ConfigPath } from "../config/config-issues.js";
import { isRecord } from "../config/entry-reader.js";
import { type ConfigDocument, valueAt } from "./config-document.js";
import { findClaudeProject } from "./dialects/claude-code.js";
import type { Dialect, DialectKind, RawFields } from "./dialects/dialect.js";
import { DIALECT_KINDS, dialectOf } from "./dialects/dialects.js";

/** The keys that hold servers, the surest first. */
const CONTAINERS: readonly (readonly [ConfigPath, DialectKind])[] = [
  [["mcpServers"], "generic"],
  [["servers"], "vscode"],
  [["context_servers"], "zed"],
  [["mcp", "servers"], "vscode"],
  [["mcp"], "opencode"],
  [["mcp_servers"], "codex"],
];

/** Fields that only a server has. */
const SERVER_FIELDS = ["command", "url", "image", "httpUrl", "serverUrl", "baseUrl", "base_url", "sseUrl"];

const asRecord = (value: unknown): RawFields => (isRecord(value) ? value : {});

/** The dialect of a file whose name says nothing. */
export function detectDialect({ root }: ConfigDocument): Dialect {
  const fields = asRecord(root);
  const [container = [], kind = "generic" as const] =
    CONTAINERS.find(([path]) => isRecord(valueAt(root, path))) ?? [];
  if (kind !== "generic") return dialectOf(kind);
  const entries = Object.values(asRecord(valueAt(root, container))).map(asRecord);
  const has = (keys: readonly string[] = [], records: readonly RawFields[] = []) =>
    records.some((record) => keys.some((key) => Object.hasOwn(record, key)));
  const telling = DIALECT_KINDS.map(dialectOf).find(
    ({ rootMarkers, entryMarkers }) => has(rootMarkers, [fields]) || has(entryMarkers, entries),
  );
  return telling ?? dialectOf("generic");
}

/** Where the servers of a file are. */
export interface ServerContainer {
  readonly path: ConfigPath;
  /** What stands around it: the file, or what it says about one project. */
  readonly around: RawFields;
}

/** The places with servers, the one whose servers win first; none if there is none. */
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
  // People paste what was meant for another program; the key tells them apart, so it is taken all the same.
  const others = dialect.isSettingsFile === true ? [] : CONTAINERS.map(([path]) => path);
  const paths = [...dialect.containers, ...others];
  const path = paths.find((candidate) => valueAt(root, candidate) !== undefined);
  if (path !== undefined) found.push({ path, around });
  else if (found.length === 0 && options.allowBareMap && isBareMap(around)) found.push({ path: [], around });
  return found;
}

/** Only servers, without a key around them. */
function isBareMap(root: RawFields): boolean {
  const entries = Object.values(root);
  return (
    entries.length > 0 &&
    entries.every((entry) => isRecord(entry) && SERVER_FIELDS.some((field) => Object.hasOwn(entry, field)))
  );
}
