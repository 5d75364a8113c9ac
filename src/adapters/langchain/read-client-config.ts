/** Validates the configuration of a `MultiServerMCPClient` and splits it into options of LangChain and of Toolport. */
import { ENTRY_KEYS } from "../../config/entry-options.js";
import type { ServerEntry } from "../../config/server-entry.js";
import { SCHEMA_TARGETS } from "../../schema/derive/derived-schema.js";
import { type Fields, isRecord } from "../../util/json.js";
import type { SchemaForm } from "../offered-tools.js";
import type { ClientConfig, Connection } from "./client-config.js";
import { ConfigZodError, MCPClientError, type ZodIssue } from "./errors.js";
import { OUTPUT_TYPES } from "./output-handling.js";

export interface ReadConfig {
  /** As given, with defaults. */
  readonly config: ClientConfig;
  /** For `createToolport`. */
  readonly entries: Readonly<Record<string, ServerEntry>>;
  /** The servers were given at the top level, not in `mcpServers`. */
  readonly isBareMap: boolean;
}

const SCHEMA_FORMS: readonly SchemaForm[] = ["source", ...SCHEMA_TARGETS];
const FLAGS = ["throwOnLoadError", "prefixToolNameWithServerName", "useStandardContentBlocks"] as const;
const FUNCTIONS = [
  ...["beforeToolCall", "afterToolCall", "onProgress", "onMessage", "onInitialized", "onCancelled"],
  ...["onPromptsListChanged", "onResourcesListChanged", "onResourcesUpdated", "onRootsListChanged"],
  ...["onToolsListChanged", "onLeftOut"],
];

/**
 * Reads the configuration.
 *
 * @throws an error named `ZodError` with every problem found here; `createToolport` checks the transports
 */
export function readClientConfig(given: ClientConfig | Readonly<Record<string, Connection>>): ReadConfig {
  const issues: ZodIssue[] = [];
  const report = (path: (string | number)[], message: string) =>
    issues.push({ code: "custom", path, message });
  if (!isRecord(given))
    throw new ConfigZodError([{ code: "custom", path: [], message: "must be an object" }]);
  const isBareMap = !("mcpServers" in given);
  const options: Fields = isBareMap ? {} : given;
  const servers: unknown = isBareMap ? given : given["mcpServers"];
  const at = isBareMap ? [] : ["mcpServers"];
  checkOptions(options, report);
  if (!isRecord(servers)) report(at, "must be an object with one entry per server name");
  const entries: Record<string, ServerEntry> = {};
  for (const [name, entry] of Object.entries(isRecord(servers) ? servers : {})) {
    if (isRecord(entry)) checkOutput(entry, [...at, name], report);
    entries[name] = toEntry(entry);
  }
  if (issues.length > 0) throw new ConfigZodError(issues);
  if (Object.keys(entries).length === 0) throw new MCPClientError("No MCP servers provided");
  return { config: withDefaults({ ...options, mcpServers: servers } as ClientConfig), entries, isBareMap };
}

function withDefaults(config: ClientConfig): ClientConfig {
  return {
    ...config,
    throwOnLoadError: config.throwOnLoadError ?? true,
    prefixToolNameWithServerName: config.prefixToolNameWithServerName ?? false,
    additionalToolNamePrefix: config.additionalToolNamePrefix ?? "",
    useStandardContentBlocks: config.useStandardContentBlocks ?? false,
    onConnectionError: config.onConnectionError ?? "throw",
  };
}

type Report = (path: (string | number)[], message: string) => void;

function checkOptions(options: Fields, report: Report): void {
  for (const key of FLAGS) check(options, key, "boolean", report);
  for (const key of FUNCTIONS) check(options, key, "function", report);
  check(options, "additionalToolNamePrefix", "string", report);
  checkOutput(options, [], report);
  const { onConnectionError: policy, toolErrors, maxResourceBytes, toolport, schema } = options;
  if (schema !== undefined && !SCHEMA_FORMS.includes(schema as SchemaForm)) {
    report(["schema"], `must be one of ${SCHEMA_FORMS.map((form) => JSON.stringify(form)).join(", ")}`);
  }
  if (policy !== undefined && typeof policy !== "function" && policy !== "throw" && policy !== "ignore") {
    report(["onConnectionError"], 'must be "throw", "ignore" or a function');
  }
  if (toolErrors !== undefined && toolErrors !== "throw" && toolErrors !== "message") {
    report(["toolErrors"], 'must be "throw" or "message"');
  }
  for (const key of ["elicitation", "approval"])
    if (options[key] !== undefined && options[key] !== "interrupt") report([key], 'must be "interrupt"');
  if (maxResourceBytes !== undefined && !isAmount(maxResourceBytes)) {
    report(["maxResourceBytes"], "must be a number of at least 0");
  }
  if (toolport !== undefined && !isRecord(toolport)) report(["toolport"], "must be an object");
}

function check(options: Fields, key: string, type: "boolean" | "function" | "string", report: Report): void {
  const value = options[key];
  if (value !== undefined && typeof value !== type) report([key], `must be a ${type}`);
}

/** Checks options that are allowed at the top level and in an entry. */
function checkOutput(fields: Fields, at: string[], report: Report): void {
  const { outputHandling, defaultToolTimeout, audience } = fields;
  if (audience !== undefined && audience !== "respect" && audience !== "ignore")
    report([...at, "audience"], 'must be "respect" or "ignore"');
  if (
    defaultToolTimeout !== undefined &&
    !(isAmount(defaultToolTimeout) && Number.isFinite(defaultToolTimeout))
  ) {
    report([...at, "defaultToolTimeout"], "must be a number of milliseconds; 0 means not set");
  }
  if (outputHandling === undefined || isTarget(outputHandling)) return;
  const path = [...at, "outputHandling"];
  if (!isRecord(outputHandling)) {
    report(path, 'must be "content", "artifact" or an object with one of them for each type');
    return;
  }
  for (const type of OUTPUT_TYPES) {
    const target = outputHandling[type];
    if (target !== undefined && !isTarget(target)) report([...path, type], 'must be "content" or "artifact"');
  }
}

const isTarget = (value: unknown): boolean => value === "content" || value === "artifact";
const isAmount = (value: unknown): value is number => typeof value === "number" && value >= 0;

/** The entry without the fields of LangChain and of other programs. */
function toEntry(entry: unknown): ServerEntry {
  if (!isRecord(entry)) return entry as ServerEntry;
  const known = Object.entries(entry).filter(
    ([key, value]) => ENTRY_KEYS.includes(key) && value !== undefined,
  );
  const own = Object.fromEntries(known);
  // Node's "overlapped" equals "pipe" except on Windows, where it opens the pipe differently.
  return (own["stderr"] === "overlapped" ? { ...own, stderr: "pipe" } : own) as unknown as ServerEntry;
}
