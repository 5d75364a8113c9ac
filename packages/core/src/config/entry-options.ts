/** The options of a server entry, and how each is read. */

import type { AuthProvider, ClientOptions, OAuthClientProvider } from "@modelcontextprotocol/client";
import {
  canParseUrl,
  type EntryReader,
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
  readText,
  readTexts,
  readTimeLimit,
  resolveCommand,
  resolvePath,
  type SettingsOf,
  TIME_LIMIT,
} from "@toolport/base";
import type { ProxyOption } from "@toolport/http/proxy-option";
import { SecretRecord, SecretValue } from "./known-secrets.js";
import { type OAuthConfig, readOAuth } from "./read-oauth.js";
import type {
  BaseUrlServerEntry,
  CacheOption,
  CommonServerEntry,
  CustomServerEntry,
  DockerServerEntry,
  FailurePredicate,
  HeadersOption,
  HttpServerEntry,
  ProtocolChoice,
  ReconnectOptions,
  SseUrlServerEntry,
  StdioServerEntry,
  WebSocketServerEntry,
} from "./server-entry.js";

/** Wrapped, because the address of a proxy may contain a password. */
export type ProxyConfig = SecretValue<ProxyOption>;

/** The network options of a port or a server; undefined if an option is not set. */
export interface NetworkConfig {
  readonly proxy?: ProxyConfig | undefined;
  readonly maxSockets?: number | undefined;
}

const SHAPE = '"env", false, or the address of a proxy such as http://proxy.example:3128';

export function readProxy(reader: EntryReader): ProxyConfig | undefined {
  const value = reader.raw("proxy");
  if (value === undefined) return undefined;
  if (value === false || value === "env") return new SecretValue<ProxyOption>(value);
  const text = value instanceof URL ? value.href : value;
  // The message does not show the value: it may contain a password.
  if (typeof text !== "string" || !canParseUrl(text)) return reader.report("proxy", `must be ${SHAPE}`);
  const { protocol } = new URL(text);
  if (protocol.startsWith("socks"))
    return reader.report("proxy", "is a SOCKS proxy, which is not supported; use an HTTP proxy (http://…)");
  if (protocol !== "http:" && protocol !== "https:") return reader.report("proxy", `must be ${SHAPE}`);
  return new SecretValue<ProxyOption>(text);
}

export const readMaxSockets = readSize;

/** Header values; a function returns new ones before every request. It may reject, but never throws. */
export type HeaderSource =
  | SecretRecord
  | (() => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>);

const RECONNECT_OPTIONS = {
  enabled: { read: readFlag, default: true },
  maxAttempts: { read: readNumber({ min: 0, integer: true }) },
  delayMs: { read: readNumber({ min: 0 }) },
} as const satisfies OptionTable<ReconnectOptions>;

export type ReconnectConfig = SettingsOf<ReconnectOptions, typeof RECONNECT_OPTIONS>;

const readReconnect = readObject<ReconnectConfig>(RECONNECT_OPTIONS);

/** The servers to try next, in order, and the failures after which they are tried. */
export interface FallbackConfig {
  readonly servers: readonly string[];
  readonly tools: Readonly<Record<string, string>>;
  readonly when: "transient" | "unsent" | FailurePredicate;
}

/** A list of names. A single string is a list of one. */
function readNames(reader: EntryReader, key: string): readonly string[] | undefined {
  const value = reader.raw(key);
  return typeof value === "string" ? Object.freeze([value]) : reader.texts(key);
}

const CACHE_OPTIONS = { ttlMs: { read: readNumber({ min: 0 }), required: "is missing" } };

export const readCache = readObject<CacheOption>(CACHE_OPTIONS, {
  or: (value) => typeof value === "boolean",
  shape: 'must be true, false or { "ttlMs": 60000 }',
});

const FALLBACK_OPTIONS = {
  servers: { read: readNames, required: "is missing" },
  tools: { read: (reader, key) => Object.freeze(reader.textMap(key, () => undefined)) },
  when: {
    read: readIf(
      (value) => value === "transient" || value === "unsent" || isFunction(value),
      'must be "transient", "unsent" or a function',
    ),
    default: "transient",
  },
} as const satisfies OptionTable<FallbackConfig>;

function readFallback(reader: EntryReader, key: string): FallbackConfig | undefined {
  const value = reader.raw(key);
  if (typeof value !== "string" && !Array.isArray(value))
    return readObject<FallbackConfig>(FALLBACK_OPTIONS)(reader, key);
  return Object.freeze({
    servers: readNames(reader, key) ?? [],
    tools: Object.freeze({}),
    when: "transient",
  });
}

type RateLimit = NonNullable<CommonServerEntry["rateLimit"]>;

const RATE_LIMIT_OPTIONS = {
  perSecond: { read: readNumber({ min: 0, above: true }), required: "is missing" },
  burst: { read: readNumber({ min: 1, integer: true }) },
} as const satisfies OptionTable<RateLimit>;

export const readRateLimit = readObject<RateLimit>(RATE_LIMIT_OPTIONS);

/** Calls at the same time. */
export const readConcurrency = readNumber({ min: 1, integer: true });

const readToolTimeouts = readNumbers(TIME_LIMIT);

const REVISION = "must be a protocol revision in the form YYYY-MM-DD";

/** Revisions of MCP are dates. */
const readRevision = readIf<string>(
  (text) => typeof text === "string" && /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text)),
  REVISION,
);

const PROTOCOL_OPTIONS = { pin: { read: readRevision, required: REVISION } };

const readProtocol = readObject<ProtocolChoice>(PROTOCOL_OPTIONS, {
  or: (value) => value === "auto" || value === "legacy",
  shape: 'must be "auto", "legacy" or { "pin": "YYYY-MM-DD" }',
});

/** Wrapped, because a cache in the options may hold results. */
function readClientOptions(reader: EntryReader, key: string): SecretValue<ClientOptions> | undefined {
  const given = reader.raw(key);
  if (given === undefined) return undefined;
  if (isRecord(given)) return new SecretValue<ClientOptions>({ ...given });
  return reader.report(key, "must be an object with options of the SDK's client");
}

function readCommand(reader: EntryReader, key: string, baseDir?: string): string | undefined {
  const command = reader.text(key);
  return command === undefined || baseDir === undefined ? command : resolveCommand(baseDir, command);
}

function readDirectory(reader: EntryReader, key: string, baseDir?: string): string | undefined {
  const path = reader.text(key);
  return path === undefined || baseDir === undefined ? path : resolvePath(baseDir, path);
}

/** Environment variables of a process or container. */
export function readProcessEnv(reader: EntryReader): SecretRecord {
  const values = reader.textMap("env", (name, value) => {
    if (name === "" || /[=\0]/.test(name)) return 'the name of a variable must not be empty or contain "="';
    return value.includes("\0") ? "its value must not contain a NUL character" : undefined;
  });
  return new SecretRecord(values);
}

/** Encodings in which a newline is not the single byte 0x0A, by which the transport splits lines. */
const UNSPLITTABLE_ENCODINGS: readonly string[] = ["utf-16le", "utf-16be", "iso-2022-jp"];

function readEncoding(reader: EntryReader, key: string): string | undefined {
  const label = reader.text(key)?.trim().toLowerCase();
  if (label === undefined) return undefined;
  try {
    const { encoding } = new TextDecoder(label);
    if (encoding === "utf-8") return "utf8";
    if (!UNSPLITTABLE_ENCODINGS.includes(encoding)) return label;
  } catch {
    // TextDecoder does not know the label; it is reported below.
  }
  return reader.report(
    key,
    'is not an encoding for lines of text; use "utf8" or, for old programs, "latin1"',
  );
}

function readImage(reader: EntryReader, key: string): string | undefined {
  const image = reader.text(key);
  // The engine's command line would read it as an option.
  return image?.startsWith("-") ? reader.report(key, 'must not start with "-"') : image;
}

function readMounts(reader: EntryReader, key: string): readonly string[] | undefined {
  const mounts = reader.texts(key);
  for (const [index, mount] of (mounts ?? []).entries()) {
    if (!/^[^:].*:./s.test(mount)) reader.report([key, index], 'must have the form "source:target"');
  }
  return mounts;
}

function headerProblem(name: string, value: string): string | undefined {
  if (!/^[!#$%&'*+.^_`|~\w-]+$/.test(name)) return "is not a valid name of an HTTP header";
  return /[\r\n\0]/.test(value) ? "its value must not contain line breaks or NUL characters" : undefined;
}

export function readHeaders(reader: EntryReader): HeaderSource {
  const given = reader.raw("headers");
  if (typeof given === "function") {
    const getHeaders = given as Extract<HeadersOption, () => unknown>;
    return async () => getHeaders();
  }
  const spellings = new Map<string, string>();
  const values = reader.textMap("headers", (name, value) => {
    const earlier = spellings.get(name.toLowerCase());
    spellings.set(name.toLowerCase(), name);
    // HTTP joins the values of equal names with a comma, which no server expects here.
    return earlier === undefined ? headerProblem(name, value) : `is given twice (also as "${earlier}")`;
  });
  return new SecretRecord(values);
}

const readAuthProvider = readIf<AuthProvider | OAuthClientProvider>((provider) => {
  const { token, tokens } = (provider ?? {}) as Partial<AuthProvider & OAuthClientProvider>;
  return isFunction(token) || isFunction(tokens);
}, "must be an AuthProvider or OAuthClientProvider of the MCP SDK");

const SPELLINGS = ["url", "sseUrl", "base_url"] as const;

/** Appended to a bare `base_url` without `endpoint`: the default paths of langchain_mcp's servers. */
const DEFAULT_ENDPOINT = { http: "/mcp", sse: "/sse", websocket: "/mcp" } as const;

const SCHEMES = {
  http: ["http:", "https:"],
  sse: ["http:", "https:"],
  websocket: ["ws:", "wss:"],
} as const;

/** Kinds of servers that have an address. */
type AddressedKind = keyof typeof SCHEMES;

function parseAddress(reader: EntryReader, key: string, kind: AddressedKind): URL | undefined {
  const value = reader.raw(key);
  if (typeof value !== "string" && !(value instanceof URL)) return reader.report(key, "must be a URL");
  const [plain, secure] = SCHEMES[kind];
  const shape = `${secure}//host/path or ${plain}//host/path`;
  const text = String(value).trim();
  if (!canParseUrl(text)) return reader.report(key, `is not an absolute URL; write ${shape}`);
  const url = new URL(text);
  if (url.protocol !== plain && url.protocol !== secure) {
    return reader.report(key, `must start with ${secure}// or ${plain}//; write ${shape}`);
  }
  if (url.username !== "" || url.password !== "") {
    return reader.report(
      key,
      'must not contain a user name or password; use "headers"' +
        (kind === "websocket" ? "" : ' or "authProvider"') +
        " instead",
    );
  }
  url.hash = "";
  return url;
}

function joinEndpoint(reader: EntryReader, base: URL, kind: AddressedKind): URL | undefined {
  const given = reader.text("endpoint");
  if (reader.has("endpoint") && given === undefined) return undefined;
  // A base with a path and no endpoint is a complete address, as in mcporter's files.
  if (given === undefined && base.pathname !== "/") return base;
  const endpoint = given ?? DEFAULT_ENDPOINT[kind];
  if (canParseUrl(endpoint) || endpoint.startsWith("//")) {
    return reader.report("endpoint", "must be a path on the server of base_url, such as /mcp");
  }
  const mark = endpoint.search(/[?#]/);
  const path = mark < 0 ? endpoint : endpoint.slice(0, mark);
  const query = mark < 0 ? "" : endpoint.slice(mark).replace(/#.*$/s, "");
  const joined = new URL(base);
  joined.pathname = `${base.pathname.replace(/\/+$/, "")}/${path.replace(/^\/+/, "")}`;
  if (query !== "") joined.search = query;
  return joined;
}

/** The normalised address, or undefined after it reported a problem. */
function readUrl(reader: EntryReader, kind: AddressedKind): string | undefined {
  const given = SPELLINGS.filter((key) => reader.has(key));
  const [key, other] = given;
  if (key === undefined) return reader.report("url", "is missing; give the address of the MCP endpoint");
  if (other !== undefined)
    return reader.report(other, `has the same meaning as "${key}"; give only one of them`);
  if (key !== "base_url" && reader.has("endpoint")) {
    return reader.report("endpoint", 'belongs to "base_url"; write the whole address into "url"');
  }
  const url = parseAddress(reader, key, kind);
  if (url === undefined) return undefined;
  return (key === "base_url" ? joinEndpoint(reader, url, kind) : url)?.href;
}

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
