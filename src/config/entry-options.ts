/** The tables of options that a server entry takes, one for each kind of server. `server-entry.ts` says what they mean. */
import type { ClientOptions } from "@modelcontextprotocol/client";
import { LOG_LEVELS } from "../model/log-levels.js";
import {
  type FallbackConfig,
  type HeaderSource,
  type ReconnectConfig,
  readAuthProvider,
  readCache,
  readClientOptions,
  readCommand,
  readConcurrency,
  readDirectory,
  readEncoding,
  readFallback,
  readHeaders,
  readImage,
  readMounts,
  readNames,
  readProcessEnv,
  readProtocol,
  readRateLimit,
  readReconnect,
  readToolTimeouts,
  readUrl,
} from "./entry-readers.js";
import {
  type OptionTable,
  readChoice,
  readFlag,
  readFunction,
  readText,
  readTexts,
  readTimeLimit,
} from "./option-table.js";
import { type ProxyConfig, readMaxSockets, readProxy } from "./read-network.js";
import { type OAuthConfig, readOAuth } from "./read-oauth.js";
import { SecretRecord, type SecretValue } from "./secret-record.js";
import type {
  BaseUrlServerEntry,
  CommonServerEntry,
  CustomServerEntry,
  DockerServerEntry,
  HttpServerEntry,
  SseUrlServerEntry,
  StdioServerEntry,
  WebSocketServerEntry,
} from "./server-entry.js";

/** The options whose type is another one in a `ServerConfig`: normalised, or wrapped because they hold secrets. */
export interface ChangedOptions {
  clientOptions: SecretValue<ClientOptions>;
  env: SecretRecord;
  fallback: FallbackConfig;
  headers: HeaderSource;
  oauth: Exclude<OAuthConfig, undefined>;
  proxy: ProxyConfig;
  reconnect: ReconnectConfig;
  restart: ReconnectConfig;
  url: string;
}

/** Every spelling of the address of a server. */
export type HttpEntry = HttpServerEntry & SseUrlServerEntry & BaseUrlServerEntry;
export type WebSocketEntry = WebSocketServerEntry & Pick<HttpEntry, "sseUrl" | "base_url" | "endpoint">;

const NO_TEXTS: readonly string[] = Object.freeze([]);
const NO_SECRETS = new SecretRecord();
const RECONNECT: ReconnectConfig = Object.freeze({ enabled: true });

/** `readServerKind` reads both. */
const KIND = { transport: { partOf: "kind" }, type: { partOf: "kind" } } as const;
const ADDRESS = {
  sseUrl: { partOf: "url" },
  base_url: { partOf: "url" },
  endpoint: { partOf: "url" },
} as const;

export const COMMON_OPTIONS = {
  enabled: { read: readFlag, default: true },
  timeoutMs: { read: readTimeLimit },
  toolTimeoutsMs: { read: readToolTimeouts },
  fallback: { read: readFallback },
  only: { read: readNames },
  except: { read: readNames },
  filter: { read: readFunction },
  cache: { read: readCache },
  defer: { read: readFlag },
  trustAnnotations: { read: readFlag, default: false },
  checkArguments: { read: readChoice(["repair", "strict", "off"]) },
  concurrency: { read: readConcurrency },
  rateLimit: { read: readRateLimit },
  protocol: { read: readProtocol, default: "auto" },
  onProgress: { read: readFunction },
  logLevel: { read: readChoice(LOG_LEVELS) },
  logEvents: { read: readFlag, default: false },
  logRequests: { read: readFlag, default: false },
  logResponses: { read: readFlag, default: false },
  clientOptions: { read: readClientOptions },
} as const satisfies OptionTable<CommonServerEntry, ChangedOptions>;

export const STDIO_OPTIONS = {
  ...KIND,
  command: { read: readCommand, required: "is missing; give the program to start" },
  args: { read: readTexts, default: NO_TEXTS },
  env: { read: readProcessEnv, default: NO_SECRETS },
  inheritEnv: { read: readFlag, default: false },
  cwd: { read: readDirectory },
  encoding: { read: readEncoding, default: "utf8" },
  stderr: { read: readChoice(["pipe", "inherit", "ignore"]), default: "pipe" },
  restart: { read: readReconnect, default: RECONNECT, as: "reconnect" },
  ...COMMON_OPTIONS,
} as const satisfies OptionTable<StdioServerEntry, ChangedOptions>;

export const DOCKER_OPTIONS = {
  ...KIND,
  image: { read: readImage, required: "is missing; give the name of a container image" },
  args: { read: readTexts, default: NO_TEXTS },
  env: { read: readProcessEnv, default: NO_SECRETS },
  mounts: { read: readMounts, default: NO_TEXTS },
  runArgs: { read: readTexts, default: NO_TEXTS },
  engine: { read: readText, default: "docker" },
  dockerHost: { read: readText },
  restart: { read: readReconnect, default: RECONNECT, as: "reconnect" },
  ...COMMON_OPTIONS,
} as const satisfies OptionTable<DockerServerEntry, ChangedOptions>;

export const HTTP_OPTIONS = {
  ...KIND,
  url: { read: (reader) => readUrl(reader, "http") },
  ...ADDRESS,
  headers: { read: readHeaders, default: NO_SECRETS },
  authProvider: { read: readAuthProvider },
  oauth: { read: readOAuth },
  automaticSSEFallback: { read: readFlag, default: true, as: "sseFallback" },
  proxy: { read: readProxy },
  maxSockets: { read: readMaxSockets },
  reconnect: { read: readReconnect, default: RECONNECT },
  ...COMMON_OPTIONS,
} as const satisfies OptionTable<HttpEntry, ChangedOptions>;

/** Files that list several servers give `automaticSSEFallback` to all of them, so it is valid here, without an effect. */
export const SSE_OPTIONS = {
  ...HTTP_OPTIONS,
  url: { read: (reader) => readUrl(reader, "sse") },
} as const satisfies OptionTable<HttpEntry, ChangedOptions>;

export const WEBSOCKET_OPTIONS = {
  ...KIND,
  url: { read: (reader) => readUrl(reader, "websocket") },
  ...ADDRESS,
  headers: { read: readHeaders, default: NO_SECRETS },
  proxy: { read: readProxy },
  reconnect: { read: readReconnect, default: RECONNECT },
  ...COMMON_OPTIONS,
} as const satisfies OptionTable<WebSocketEntry, ChangedOptions>;

export const CUSTOM_OPTIONS = {
  ...KIND,
  transport: {
    // A new function: the user's function may have properties that must not appear in a log.
    read: (reader, key) => {
      const create = reader.raw(key) as CustomServerEntry["transport"];
      return () => create();
    },
    as: "createTransport",
  },
  reconnect: { read: readReconnect, default: RECONNECT },
  ...COMMON_OPTIONS,
} as const satisfies OptionTable<CustomServerEntry & { type?: never }, ChangedOptions>;

/** The table of each kind of server. */
export const ENTRY_OPTIONS = {
  stdio: STDIO_OPTIONS,
  docker: DOCKER_OPTIONS,
  http: HTTP_OPTIONS,
  sse: SSE_OPTIONS,
  websocket: WEBSOCKET_OPTIONS,
  custom: CUSTOM_OPTIONS,
} as const;

/** The names of all options of all kinds of servers. */
export const ENTRY_KEYS: readonly string[] = [...new Set(Object.values(ENTRY_OPTIONS).flatMap(Object.keys))];
