/** The table of options of `createToolport`, and the function that reads them. `options.ts` documents them. */

import {
  CLIENT_INFO,
  ConfigError,
  ConfigIssues,
  EntryReader,
  isFunction,
  isRecord,
  LOG_LEVELS,
  type OptionTable,
  readChoice,
  readFlag,
  readFunction,
  readIf,
  readNumber,
  readNumbers,
  readObject,
  readSize,
  readTable,
  readText,
  readTexts,
  readTimeLimit,
  readUnchecked,
  readWebAddress,
  type SettingsOf,
  SIZE,
  silentLogger,
} from "@toolport/base";
import { memoryStore, type Store, storeProblem, withStateErrors } from "@toolport/stores";
import { readCatalogExport } from "../catalog/exported-catalog.js";
import {
  type ProxyConfig,
  readCache,
  readConcurrency,
  readMaxSockets,
  readProxy,
  readRateLimit,
} from "../config/entry-options.js";
import { parseServers } from "../config/parse-servers.js";
import type { ServerConfig } from "../config/server-config.js";
import type { FailurePredicate } from "../config/server-entry.js";
import type { ResultSizeOptions } from "../execution/result-size.js";
import type { RetryOptions } from "../execution/retry.js";
import { DEFAULT_MAX_MESSAGE_BYTES } from "../transports/server-transport.js";
import type { DeferToolsOptions, ToolportOptions } from "./options.js";
import type { PromptToolsOptions, ResourceToolsOptions } from "./own-tools/own-tools.js";

const isBoolean = (value: unknown): boolean => typeof value === "boolean";

const readList = <Value>(reader: EntryReader, key: string): readonly Value[] | undefined =>
  readIf<readonly Value[]>(Array.isArray, "must be an array")(reader, key);

type ClientInfo = NonNullable<ToolportOptions["clientInfo"]>;

const CLIENT_INFO_OPTIONS = {
  name: { read: readText, required: "is missing" },
  version: { read: readText, required: "is missing" },
} as const satisfies OptionTable<ClientInfo>;

const HEALTH_CHECK_OPTIONS = {
  intervalMs: { read: readNumber({ min: 0, above: true }), required: "is missing" },
} as const satisfies OptionTable<NonNullable<ToolportOptions["healthCheck"]>>;

const DEFER_TOOLS_OPTIONS = {
  mode: { read: readChoice(["auto", "always", "never"]) },
  alwaysVisible: { read: readTexts },
  above: { read: readNumber({ min: 0 }) },
} as const satisfies OptionTable<DeferToolsOptions>;

const RESOURCE_TOOLS_OPTIONS = {
  servers: { read: readUnchecked },
  list: { read: readUnchecked },
  read: { read: readUnchecked },
} as const satisfies OptionTable<ResourceToolsOptions>;

const PROMPT_TOOLS_OPTIONS = {
  servers: { read: readUnchecked },
  list: { read: readUnchecked },
  get: { read: readUnchecked },
} as const satisfies OptionTable<PromptToolsOptions>;

const RETRY_OPTIONS = {
  maxAttempts: { read: readNumber({ min: 1, integer: true }) },
  baseMs: { read: readNumber({ min: 0 }) },
  maxMs: { read: readNumber({ min: 0 }) },
  when: { read: readFunction },
} as const satisfies OptionTable<Exclude<RetryOptions, false | FailurePredicate>>;

const RESULT_SIZE_OPTIONS = {
  bytes: { read: readSize, required: "is missing" },
  mode: { read: readChoice(["truncate", "spill"]), required: 'is missing: "truncate" or "spill"' },
  tools: { read: readNumbers(SIZE) },
  read: { read: readFlag },
  onSpill: { read: readFunction },
} as const satisfies OptionTable<ResultSizeOptions>;

// One table for each section of docs/options.md.
const SERVER_OPTIONS = {
  mcpServers: { partOf: "servers" },
  store: { read: readStore },
  restore: { read: readChoice(["lazy", "connect"], (value) => value === false), default: "lazy" },
  callbackUrl: { read: (reader, key) => readWebAddress(reader, key, { loopback: true }) },
  clientInfo: { read: readClientInfo, default: CLIENT_INFO },
  onServerError: { read: readChoice(["report", "throw"], isFunction), default: "report" },
  connectTimeoutMs: { read: readTimeLimit, default: 60_000 },
  idleTimeoutMs: { read: readNumber({ min: 0, above: true }) },
  healthCheck: { read: readObject(HEALTH_CHECK_OPTIONS) },
  fetch: { read: readFunction },
  proxy: { read: readProxy },
  maxSockets: { read: readMaxSockets },
} as const satisfies Partial<OptionTable<ToolportOptions, ChangedOptions>>;

const CATALOG_OPTIONS = {
  prefix: { read: readFlag, default: true },
  // Unlike other texts, it may be empty.
  additionalToolNamePrefix: {
    read: readIf((value) => typeof value === "string", "must be a string"),
    default: "",
  },
  toolNameMapper: { read: readFunction },
  toolSpecificationMapper: { read: readFunction },
  only: { read: readTexts },
  except: { read: readTexts },
  filter: { read: readFunction },
  requiredTools: { read: readTexts, default: [] },
  cache: { read: readCache, default: true },
  catalog: { read: (reader, key) => (reader.has(key) ? readCatalogExport(reader.raw(key)) : undefined) },
  pins: { read: readChoice(["off", "warn", "block"]), default: "off" },
  scan: { read: readFunction },
  deferTools: { read: readObject(DEFER_TOOLS_OPTIONS, { or: isBoolean }) },
  resourcesAsTools: {
    read: readObject(RESOURCE_TOOLS_OPTIONS, { or: (value) => isBoolean(value) || isFunction(value) }),
  },
  promptsAsTools: { read: readObject(PROMPT_TOOLS_OPTIONS, { or: isBoolean }) },
} as const satisfies Partial<OptionTable<ToolportOptions>>;

const CALL_OPTIONS = {
  timeoutMs: { read: readTimeLimit, default: 60_000 },
  maxTimeoutMs: { read: readTimeLimit, default: 300_000 },
  approve: { read: readUnchecked },
  interceptors: { read: readList, default: [] },
  listeners: { read: readList, default: [] },
  retry: { read: readObject(RETRY_OPTIONS, { or: (value) => value === false || isFunction(value) }) },
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
  logger: {
    read: readIf(isLogger, "must have the methods debug, info, warn and error"),
    default: silentLogger,
  },
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

function readStore(reader: EntryReader, key: string): Store | undefined {
  if (!reader.has(key)) return undefined;
  const problem = storeProblem(reader.raw(key));
  return problem === undefined ? withStateErrors(reader.raw(key) as Store) : reader.report(key, problem);
}

function isLogger(value: unknown): boolean {
  return isRecord(value) && ["debug", "info", "warn", "error"].every((name) => isFunction(value[name]));
}

/** Fields without a row are sent as they are. */
function readClientInfo(reader: EntryReader, key: string): ClientInfo | undefined {
  const inner = reader.inner(key);
  if (inner === undefined) return undefined;
  return { ...(reader.raw(key) as object), ...readTable<ClientInfo>(CLIENT_INFO_OPTIONS, inner) };
}

function readResultSize(reader: EntryReader, key: string): ToolportOptions["maxResultBytes"] {
  if (typeof reader.raw(key) === "number") return readSize(reader, key);
  return readObject<ResultSizeOptions>(RESULT_SIZE_OPTIONS)(reader, key);
}
