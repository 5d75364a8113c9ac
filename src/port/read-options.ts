/** The table of options of `createToolport`, and the function that reads them. `options.ts` documents them. */

import { type CatalogExport, readCatalogExport } from "../catalog/exported-catalog.js";
import { ConfigIssues } from "../config/config-issues.js";
import { EntryReader, isRecord } from "../config/entry-reader.js";
import { readCache, readConcurrency, readRateLimit } from "../config/entry-readers.js";
import {
  type OptionTable,
  readChoice,
  readFlag,
  readFunction,
  readNumber,
  readTable,
  readTexts,
  readTimeLimit,
  readUnchecked,
  type SettingsOf,
} from "../config/option-table.js";
import { parseServers } from "../config/parse-servers.js";
import { type ProxyConfig, readMaxSockets, readProxy } from "../config/read-network.js";
import { readWebAddress } from "../config/read-oauth.js";
import type { ServerConfig } from "../config/server-config.js";
import { ConfigError } from "../errors/config-error.js";
import { LOG_LEVELS } from "../model/log-levels.js";
import { storeProblem, withStateErrors } from "../state/custom-store.js";
import { memoryStore } from "../state/memory-store.js";
import type { Store } from "../state/store.js";
import { type Logger, silentLogger } from "../telemetry/logger.js";
import { DEFAULT_MAX_MESSAGE_BYTES } from "../transports/server-transport.js";
import { CLIENT_INFO } from "../util/version.js";
import type { ServerErrorPolicy, ToolportOptions } from "./options.js";

const SERVER_OPTIONS = {
  mcpServers: { partOf: "servers" },
  store: { read: readStore },
  restore: { read: readRestore, default: "lazy" },
  callbackUrl: { read: (reader, key) => readWebAddress(reader, key, { loopback: true }) },
  clientInfo: { read: readClientInfo, default: CLIENT_INFO },
  onServerError: { read: readErrorPolicy, default: "report" },
  connectTimeoutMs: { read: readTimeLimit, default: 60_000 },
  idleTimeoutMs: { read: readNumber({ min: 0, above: true }) },
  healthCheck: { read: readHealthCheck },
  fetch: { read: readFunction },
  proxy: { read: readProxy },
  maxSockets: { read: readMaxSockets },
} as const satisfies Partial<OptionTable<ToolportOptions, ChangedOptions>>;

const CATALOG_OPTIONS = {
  prefix: { read: readFlag, default: true },
  additionalToolNamePrefix: { read: readPrefix, default: "" },
  toolNameMapper: { read: readFunction },
  toolSpecificationMapper: { read: readFunction },
  only: { read: readTexts },
  except: { read: readTexts },
  filter: { read: readFunction },
  requiredTools: { read: readTexts, default: [] },
  cache: { read: readCache, default: true },
  catalog: { read: readCatalog },
  pins: { read: readChoice(["off", "warn", "block"]), default: "off" },
  scan: { read: readFunction },
  deferTools: { read: readDeferTools },
  resourcesAsTools: { read: readResourcesAsTools },
  promptsAsTools: { read: readPromptsAsTools },
} as const satisfies Partial<OptionTable<ToolportOptions>>;

const CALL_OPTIONS = {
  timeoutMs: { read: readTimeLimit, default: 60_000 },
  maxTimeoutMs: { read: readTimeLimit, default: 300_000 },
  approve: { read: readUnchecked },
  interceptors: { read: readList, default: [] },
  listeners: { read: readList, default: [] },
  retry: { read: readRetry },
  breaker: { read: readUnchecked },
  beforeFallback: { read: readFunction },
  concurrency: { read: readConcurrency },
  rateLimit: { read: readRateLimit },
  maxQueue: { read: readNumber({ min: 0, integer: true }) },
  maxMessageBytes: { read: readNumber({ min: 1, integer: true }), default: DEFAULT_MAX_MESSAGE_BYTES },
  maxResultBytes: { read: readResultSize },
  checkArguments: { read: readChoice(["repair", "strict", "off"]), default: "repair" },
  validator: { read: readUnchecked },
  onProgress: { read: readFunction },
} as const satisfies Partial<OptionTable<ToolportOptions>>;

const SERVER_REQUEST_OPTIONS = {
  onElicitation: { read: readUnchecked },
  onSampling: { read: readUnchecked },
  roots: { read: readUnchecked },
  onLog: { read: readFunction },
  logLevel: { read: readChoice(LOG_LEVELS) },
  extensions: { read: readUnchecked },
  logger: { read: readLogger, default: silentLogger },
} as const satisfies Partial<OptionTable<ToolportOptions>>;

/** All options of `createToolport`. A new option is a row in one of the tables above. */
export const PORT_OPTIONS = {
  ...SERVER_OPTIONS,
  ...CATALOG_OPTIONS,
  ...CALL_OPTIONS,
  ...SERVER_REQUEST_OPTIONS,
} as const satisfies OptionTable<ToolportOptions, ChangedOptions>;

/** The options whose type is another one after reading. */
interface ChangedOptions {
  callbackUrl: string;
  proxy: ProxyConfig;
}

/** The options after they were checked, with every default filled in. */
export type PortSettings = SettingsOf<ToolportOptions, typeof PORT_OPTIONS, ChangedOptions> & {
  readonly store: Store;
  readonly servers: ReadonlyMap<string, ServerConfig>;
  /** The user gave a store: servers, lists and logins are saved in it. */
  readonly isSaved: boolean;
  /** The user gave `onLog` or `logger`, so log messages of servers have a reader. */
  readonly hasLogReader: boolean;
};

/** Fields that `loadConfig` returns in addition to the servers. They describe the origin of the servers and have no effect here. */
const PROVENANCE = ["files", "sources", "issues", "warnings"];

/**
 * Reads the options.
 *
 * @throws ConfigError with every problem of the options and of the servers
 */
export function readOptions(options: ToolportOptions): PortSettings {
  const issues = new ConfigIssues("options");
  const given: unknown = options;
  if (!isRecord(given)) issues.add([], "must be an object");
  const reader = new EntryReader(isRecord(given) ? given : {}, [], issues);
  reader.rejectUnknown([...Object.keys(PORT_OPTIONS), ...PROVENANCE]);
  const settings = readTable<SettingsOf<ToolportOptions, typeof PORT_OPTIONS, ChangedOptions>>(
    PORT_OPTIONS,
    reader,
  );
  return {
    ...settings,
    store: settings.store ?? memoryStore(),
    servers: readServers(reader.raw("mcpServers") ?? {}, issues),
    isSaved: settings.store !== undefined,
    hasLogReader: reader.has("onLog") || reader.has("logger"),
  };
}

/** Throws the problems of the options and those of the servers in one error. */
function readServers(mcpServers: unknown, issues: ConfigIssues): ReadonlyMap<string, ServerConfig> {
  try {
    const servers = parseServers(mcpServers);
    issues.throwIfAny();
    return servers;
  } catch (error) {
    if (!(error instanceof ConfigError) || error.issues === issues.list) throw error;
    throw new ConfigError({
      code: "INVALID_CONFIG",
      issues: [...issues.list, ...error.issues],
      next: "Correct the options named above",
    });
  }
}

function hasMethods(value: unknown, methods: readonly string[]): boolean {
  return isRecord(value) && methods.every((method) => typeof value[method] === "function");
}

function readStore(reader: EntryReader, key: string): Store | undefined {
  if (!reader.has(key)) return undefined;
  const problem = storeProblem(reader.raw(key));
  return problem === undefined ? withStateErrors(reader.raw(key) as Store) : reader.report(key, problem);
}

function readLogger(reader: EntryReader, key: string): Logger | undefined {
  const complete = hasMethods(reader.raw(key), ["debug", "info", "warn", "error"]);
  if (!reader.has(key) || complete) return reader.raw(key) as Logger | undefined;
  return reader.report(key, "must have the methods debug, info, warn and error");
}

function readRestore(reader: EntryReader, key: string): ToolportOptions["restore"] {
  return reader.raw(key) === false ? false : reader.choice<"lazy" | "connect">(key, ["lazy", "connect"]);
}

function readClientInfo(reader: EntryReader, key: string): ToolportOptions["clientInfo"] {
  const inner = reader.inner(key);
  if (inner === undefined) return undefined;
  const name = inner.text("name") ?? inner.report("name", "is missing") ?? "";
  const version = inner.text("version") ?? inner.report("version", "is missing") ?? "";
  return { ...(reader.raw(key) as object), name, version };
}

function readErrorPolicy(reader: EntryReader, key: string): ServerErrorPolicy | undefined {
  const value = reader.raw(key);
  if (typeof value === "function") return value as ServerErrorPolicy;
  return reader.choice<"report" | "throw">(key, ["report", "throw"]);
}

function readHealthCheck(reader: EntryReader, key: string): ToolportOptions["healthCheck"] {
  const inner = reader.inner(key);
  if (inner === undefined) return undefined;
  inner.rejectUnknown(["intervalMs"]);
  const intervalMs = inner.number("intervalMs", { min: 0, above: true });
  return intervalMs === undefined ? reader.report(key, 'needs "intervalMs"') : { intervalMs };
}

/** Unlike other texts, it may be empty. */
function readPrefix(reader: EntryReader, key: string): string | undefined {
  const value = reader.raw(key);
  if (value === undefined || typeof value === "string") return value;
  return reader.report(key, "must be a string");
}

function readCatalog(reader: EntryReader, key: string): CatalogExport | undefined {
  return reader.has(key) ? readCatalogExport(reader.raw(key)) : undefined;
}

function readDeferTools(reader: EntryReader, key: string): ToolportOptions["deferTools"] {
  const value = reader.raw(key);
  if (value === undefined || typeof value === "boolean") return value;
  const inner = reader.inner(key);
  if (inner === undefined) return undefined;
  inner.rejectUnknown(["mode", "alwaysVisible", "above"]);
  inner.choice("mode", ["auto", "always", "never"]);
  inner.number("above", { min: 0 });
  readTexts(inner, "alwaysVisible");
  return value as ToolportOptions["deferTools"];
}

function readResourcesAsTools(reader: EntryReader, key: string): ToolportOptions["resourcesAsTools"] {
  const value = reader.raw(key);
  if (typeof value === "function") return value as ToolportOptions["resourcesAsTools"];
  return readOwnTools(reader, key, ["list", "read"]);
}

function readPromptsAsTools(reader: EntryReader, key: string): ToolportOptions["promptsAsTools"] {
  return readOwnTools(reader, key, ["list", "get"]);
}

/** `true`, `false`, or an object that limits the servers and describes the tools. */
function readOwnTools<Value>(
  reader: EntryReader,
  key: string,
  tools: readonly string[],
): Value | boolean | undefined {
  const value = reader.raw(key);
  if (value === undefined || typeof value === "boolean") return value;
  const inner = reader.inner(key);
  inner?.rejectUnknown(["servers", ...tools]);
  return inner === undefined ? undefined : (value as Value);
}

function readRetry(reader: EntryReader, key: string): ToolportOptions["retry"] {
  const value = reader.raw(key);
  if (value === undefined || value === false || typeof value === "function") {
    return value as ToolportOptions["retry"];
  }
  const inner = reader.inner(key);
  if (inner === undefined) return undefined;
  inner.rejectUnknown(["maxAttempts", "baseMs", "maxMs", "when"]);
  inner.number("maxAttempts", { min: 1, integer: true });
  inner.number("baseMs", { min: 0 });
  inner.number("maxMs", { min: 0 });
  readFunction(inner, "when");
  return value as ToolportOptions["retry"];
}

function readResultSize(reader: EntryReader, key: string): ToolportOptions["maxResultBytes"] {
  const bytes = { min: 1, integer: true, infinite: true };
  const value = reader.raw(key);
  if (typeof value === "number") return reader.number(key, bytes);
  const inner = reader.inner(key);
  if (inner === undefined) return undefined;
  inner.rejectUnknown(["bytes", "mode", "tools", "read", "onSpill"]);
  if (!inner.has("bytes")) inner.report("bytes", "is missing");
  inner.number("bytes", bytes);
  if (!inner.has("mode")) inner.report("mode", 'is missing: "truncate" or "spill"');
  inner.choice("mode", ["truncate", "spill"]);
  const tools = inner.inner("tools");
  for (const name of tools?.keys ?? []) tools?.number(name, bytes);
  inner.flag("read");
  readFunction(inner, "onSpill");
  return value as ToolportOptions["maxResultBytes"];
}

function readList<Value>(reader: EntryReader, key: string): readonly Value[] | undefined {
  const value = reader.raw(key);
  if (value === undefined || Array.isArray(value)) return value;
  return reader.report(key, "must be an array");
}
