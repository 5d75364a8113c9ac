/** Checks the options of `createToolport` at the door and fills in every default. */

import { readCatalogExport } from "../catalog/exported-catalog.js";
import { ConfigIssues } from "../config/config-issues.js";
import { EntryReader, isRecord } from "../config/entry-reader.js";
import { parseServers } from "../config/parse-servers.js";
import { type NetworkConfig, readMaxSockets, readProxy } from "../config/read-network.js";
import { readWebAddress } from "../config/read-oauth.js";
import { readCache, readCheckArguments, readFunction, readRateLimit } from "../config/read-policy.js";
import type { ServerConfig } from "../config/server-config.js";
import { ConfigError } from "../errors/config-error.js";
import { LOG_LEVELS } from "../model/log-levels.js";
import { memoryStore } from "../state/memory-store.js";
import { type Logger, silentLogger } from "../telemetry/logger.js";
import { DEFAULT_MAX_MESSAGE_BYTES } from "../transports/server-transport.js";
import { CLIENT_INFO } from "../util/version.js";
import type { ServerErrorPolicy, ToolportOptions } from "./options.js";

type Filled =
  | "store"
  | "clientInfo"
  | "prefix"
  | "additionalToolNamePrefix"
  | "cache"
  | "pins"
  | "checkArguments"
  | "interceptors"
  | "listeners"
  | "requiredTools"
  | "timeoutMs"
  | "maxTimeoutMs"
  | "connectTimeoutMs"
  | "maxMessageBytes"
  | "onServerError"
  | "restore"
  | "logger";

/** The options after they were checked: nothing in here is missing by mistake. */
export type PortSettings = Omit<ToolportOptions, "mcpServers" | keyof NetworkConfig | Filled> &
  NetworkConfig &
  Required<Pick<ToolportOptions, Filled>> & {
    servers: ReadonlyMap<string, ServerConfig>;
    /** The store is the user's, so there is something to save for. */
    isSaved: boolean;
    /** Somebody reads what servers log. */
    hasLogReader: boolean;
  };

const KEYS: readonly (keyof ToolportOptions)[] = [
  ...(["mcpServers", "store", "clientInfo", "prefix", "additionalToolNamePrefix", "toolNameMapper"] as const),
  ...([
    "toolSpecificationMapper",
    "only",
    "except",
    "filter",
    "requiredTools",
    "cache",
    "catalog",
    "pins",
  ] as const),
  ...([
    "scan",
    "deferTools",
    "approve",
    "interceptors",
    "listeners",
    "retry",
    "breaker",
    "beforeFallback",
  ] as const),
  ...([
    "concurrency",
    "rateLimit",
    "maxQueue",
    "maxResultBytes",
    "checkArguments",
    "validator",
    "onProgress",
    "timeoutMs",
    "maxTimeoutMs",
  ] as const),
  ...([
    "connectTimeoutMs",
    "maxMessageBytes",
    "onServerError",
    "fetch",
    "proxy",
    "maxSockets",
    "idleTimeoutMs",
    "healthCheck",
  ] as const),
  ...(["restore", "callbackUrl"] as const),
  ...(["logger", "onElicitation", "onSampling", "roots", "onLog", "logLevel", "extensions"] as const),
  ...(["resourcesAsTools", "promptsAsTools"] as const),
];

/** What `loadConfig` returns besides the servers; it says where they came from and changes nothing. */
const PROVENANCE = ["files", "sources", "issues", "warnings"];

const FUNCTIONS = [
  ...[
    "toolNameMapper",
    "toolSpecificationMapper",
    "filter",
    "scan",
    "beforeFallback",
    "onProgress",
    "fetch",
    "onLog",
  ],
];

/**
 * Reads the options.
 *
 * @throws ConfigError with every problem, those of the servers included
 */
export function readOptions(options: ToolportOptions): PortSettings {
  const issues = new ConfigIssues("options");
  const given: unknown = options;
  if (!isRecord(given)) issues.add([], "must be an object");
  const reader = new EntryReader(isRecord(given) ? given : {}, [], issues);
  reader.rejectUnknown([...(KEYS as readonly string[]), ...PROVENANCE]);
  for (const key of FUNCTIONS) readFunction(reader, key);
  const settings = {
    ...readNumbers(reader),
    prefix: reader.flag("prefix", true),
    additionalToolNamePrefix: reader.has("additionalToolNamePrefix")
      ? (reader.raw("additionalToolNamePrefix") as string)
      : "",
    pins: reader.choice("pins", ["off", "warn", "block"]) ?? "off",
    cache: readCache(reader) ?? true,
    checkArguments: readCheckArguments(reader) ?? "repair",
    rateLimit: readRateLimit(reader) as ToolportOptions["rateLimit"],
    only: reader.has("only") ? reader.texts("only") : undefined,
    except: reader.has("except") ? reader.texts("except") : undefined,
    requiredTools: reader.texts("requiredTools"),
    interceptors: readList(reader, "interceptors") as PortSettings["interceptors"],
    listeners: readList(reader, "listeners") as PortSettings["listeners"],
    clientInfo: readClientInfo(reader),
    onServerError: readErrorPolicy(reader),
    logger: readLogger(reader),
    restore:
      reader.raw("restore") === false
        ? (false as const)
        : (reader.choice("restore", ["lazy", "connect"]) ?? "lazy"),
    logLevel: reader.choice("logLevel", LOG_LEVELS),
    resourcesAsTools: readOwnTools(reader, "resourcesAsTools", ["list", "read"]),
    promptsAsTools: readOwnTools(reader, "promptsAsTools", ["list", "get"]),
    proxy: readProxy(reader),
    maxSockets: readMaxSockets(reader),
    callbackUrl: readWebAddress(reader, "callbackUrl", { loopback: true }),
  };
  const catalog = options.catalog === undefined ? undefined : readCatalogExport(options.catalog);
  if (typeof settings.additionalToolNamePrefix !== "string") {
    reader.report("additionalToolNamePrefix", "must be a string");
  }
  checkStore(reader);
  checkRetry(reader);
  const { mcpServers, ...rest } = options;
  const servers = readServers(mcpServers ?? {}, issues);
  const isSaved = options.store !== undefined;
  const hasLogReader = options.onLog !== undefined || options.logger !== undefined;
  const store = options.store ?? memoryStore();
  return { ...rest, ...settings, catalog, store, isSaved, hasLogReader, servers };
}

/** The problems of the options and those of the servers, told together. */
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
      next: "Correct what is named above",
    });
  }
}

function checkStore(reader: EntryReader): void {
  const store = reader.raw("store");
  if (store === undefined) return;
  const methods = ["get", "put", "delete", "list", "lease", "watch"];
  if (!isRecord(store) || methods.some((method) => typeof store[method] !== "function")) {
    reader.report("store", `must have the methods ${methods.join(", ")}`);
  }
}

function checkRetry(reader: EntryReader): void {
  const value = reader.raw("retry");
  if (value === undefined || value === false || typeof value === "function") return;
  const inner = reader.inner("retry");
  inner?.rejectUnknown(["maxAttempts", "baseMs", "maxMs", "when"]);
  inner?.number("maxAttempts", { min: 1, integer: true });
  inner?.number("baseMs", { min: 0 });
  inner?.number("maxMs", { min: 0 });
  if (inner !== undefined) readFunction(inner, "when");
}

/** `true`, or an object that says more about the tools; resources also by a function. */
function readOwnTools<Key extends "resourcesAsTools" | "promptsAsTools">(
  reader: EntryReader,
  key: Key,
  tools: readonly string[],
): PortSettings[Key] {
  const value = reader.raw(key);
  if (value === undefined || typeof value === "boolean") return value as PortSettings[Key];
  if (typeof value === "function" && key === "resourcesAsTools") return value as PortSettings[Key];
  const inner = reader.inner(key);
  inner?.rejectUnknown(["servers", ...tools]);
  return inner === undefined ? undefined : (value as PortSettings[Key]);
}

function readNumbers(reader: EntryReader) {
  const limit = { min: 0, above: true, infinite: true };
  const health = reader.inner("healthCheck");
  health?.rejectUnknown(["intervalMs"]);
  const intervalMs = health?.number("intervalMs", { min: 0, above: true });
  if (health !== undefined && intervalMs === undefined) reader.report("healthCheck", 'needs "intervalMs"');
  return {
    timeoutMs: reader.number("timeoutMs", limit) ?? 60_000,
    maxTimeoutMs: reader.number("maxTimeoutMs", limit) ?? 300_000,
    connectTimeoutMs: reader.number("connectTimeoutMs", limit) ?? 60_000,
    maxMessageBytes: reader.number("maxMessageBytes", { min: 1, integer: true }) ?? DEFAULT_MAX_MESSAGE_BYTES,
    idleTimeoutMs: reader.number("idleTimeoutMs", { min: 0, above: true }),
    concurrency: reader.number("concurrency", { min: 1, integer: true }),
    maxQueue: reader.number("maxQueue", { min: 0, integer: true }),
    healthCheck: intervalMs === undefined ? undefined : { intervalMs },
  };
}

function readList(reader: EntryReader, key: string): readonly unknown[] {
  const value = reader.raw(key);
  if (value === undefined) return [];
  if (Array.isArray(value)) return value;
  reader.report(key, "must be an array");
  return [];
}

function readClientInfo(reader: EntryReader): { name: string; version: string } {
  const inner = reader.inner("clientInfo");
  if (inner === undefined) return CLIENT_INFO;
  const name = inner.text("name") ?? inner.report("name", "is needed") ?? "";
  const version = inner.text("version") ?? inner.report("version", "is needed") ?? "";
  return { ...(inner.has("name") ? (reader.raw("clientInfo") as object) : {}), name, version };
}

function readErrorPolicy(reader: EntryReader): ServerErrorPolicy {
  const value = reader.raw("onServerError");
  if (typeof value === "function") return value as ServerErrorPolicy;
  return reader.choice<"report" | "throw">("onServerError", ["report", "throw"]) ?? "report";
}

function readLogger(reader: EntryReader): Logger {
  const logger = reader.raw("logger");
  if (logger === undefined) return silentLogger;
  const methods = ["debug", "info", "warn", "error"] as const;
  const complete = isRecord(logger) && methods.every((method) => typeof logger[method] === "function");
  if (complete) return logger as unknown as Logger;
  reader.report("logger", "must have the methods debug, info, warn and error");
  return silentLogger;
}
