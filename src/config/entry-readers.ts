/** Readers for the options of a server entry that need more than a type check. */
import type { AuthProvider, ClientOptions, OAuthClientProvider } from "@modelcontextprotocol/client";
import { type EntryReader, isRecord } from "./entry-reader.js";
import type { FailurePredicate } from "./failure-predicate.js";
import { readNumber, readTimeLimit } from "./option-table.js";
import { resolveCommand, resolvePath } from "./resolve-path.js";
import { SecretRecord, SecretValue } from "./secret-record.js";
import type { CacheOption, HeadersOption, ProtocolChoice } from "./server-entry.js";

/** Header values; a function returns new ones before every request. It may reject, but never throws. */
export type HeaderSource =
  | SecretRecord
  | (() => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>);

export interface ReconnectConfig {
  readonly enabled: boolean;
  /** Attempts in a row. Undefined: the default limit of the transport. */
  readonly maxAttempts: number | undefined;
  /** A fixed wait. Undefined: exponential backoff. */
  readonly delayMs: number | undefined;
}

/** The servers to try next, in order, and the failures after which they are tried. */
export interface FallbackConfig {
  readonly servers: readonly string[];
  readonly tools: Readonly<Record<string, string>>;
  readonly when: "transient" | "unsent" | FailurePredicate;
}

/** A list of names. A single string is a list of one. */
export function readNames(reader: EntryReader, key: string): readonly string[] | undefined {
  const value = reader.raw(key);
  return typeof value === "string" ? Object.freeze([value]) : reader.texts(key);
}

export function readCache(reader: EntryReader, key: string): CacheOption | undefined {
  const value = reader.raw(key);
  if (value === undefined || typeof value === "boolean") return value;
  if (!isRecord(value)) return reader.report(key, 'must be true, false or { "ttlMs": 60000 }');
  const inner = reader.inner(key);
  inner?.rejectUnknown(["ttlMs"]);
  const ttlMs = inner?.number("ttlMs", { min: 0 });
  return ttlMs === undefined ? reader.report(key, 'needs "ttlMs"') : Object.freeze({ ttlMs });
}

export function readFallback(reader: EntryReader, key: string): FallbackConfig | undefined {
  const value = reader.raw(key);
  if (value === undefined) return undefined;
  if (typeof value === "string" || Array.isArray(value)) {
    const servers = readNames(reader, key) ?? [];
    return Object.freeze({ servers, tools: Object.freeze({}), when: "transient" });
  }
  const inner = reader.inner(key);
  if (inner === undefined) return undefined;
  inner.rejectUnknown(["servers", "tools", "when"]);
  return Object.freeze({
    servers: readNames(inner, "servers") ?? inner.report("servers", "is missing") ?? [],
    tools: Object.freeze(inner.textMap("tools", () => undefined)),
    when: readWhen(inner) ?? "transient",
  });
}

function readWhen(reader: EntryReader): FallbackConfig["when"] | undefined {
  const value = reader.raw("when");
  if (value === undefined || value === "transient" || value === "unsent") return value;
  if (typeof value === "function") return value as FailurePredicate;
  return reader.report("when", 'must be "transient", "unsent" or a function');
}

export function readRateLimit(
  reader: EntryReader,
  key: string,
): { perSecond: number; burst?: number } | undefined {
  const inner = reader.inner(key);
  if (inner === undefined) return undefined;
  inner.rejectUnknown(["perSecond", "burst"]);
  const perSecond = inner.number("perSecond", { min: 0, above: true });
  const burst = inner.number("burst", { min: 1, integer: true });
  if (perSecond === undefined) return inner.report("perSecond", "is missing");
  return Object.freeze({ perSecond, ...(burst !== undefined && { burst }) });
}

/** Calls at the same time. */
export const readConcurrency = readNumber({ min: 1, integer: true });

export function readToolTimeouts(
  reader: EntryReader,
  key: string,
): Readonly<Record<string, number>> | undefined {
  const inner = reader.inner(key);
  if (inner === undefined) return undefined;
  const limits: Record<string, number> = Object.create(null);
  for (const name of inner.keys) {
    const limit = readTimeLimit(inner, name);
    if (limit !== undefined) limits[name] = limit;
  }
  return Object.freeze(limits);
}

export function readReconnect(reader: EntryReader, key: string): ReconnectConfig | undefined {
  const inner = reader.inner(key);
  if (inner === undefined) return undefined;
  inner.rejectUnknown(["enabled", "maxAttempts", "delayMs"]);
  return Object.freeze({
    enabled: inner.flag("enabled") ?? true,
    maxAttempts: inner.number("maxAttempts", { min: 0, integer: true }),
    delayMs: inner.number("delayMs", { min: 0 }),
  });
}

/** Revisions of MCP are dates. */
function isRevision(text: unknown): text is string {
  return typeof text === "string" && /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text));
}

export function readProtocol(reader: EntryReader, key: string): ProtocolChoice | undefined {
  const value = reader.raw(key);
  if (value === undefined || value === "auto" || value === "legacy") return value;
  if (!isRecord(value)) return reader.report(key, 'must be "auto", "legacy" or { "pin": "YYYY-MM-DD" }');
  const inner = reader.inner(key);
  inner?.rejectUnknown(["pin"]);
  const pin = inner?.raw("pin");
  if (isRevision(pin)) return Object.freeze({ pin });
  return reader.report([key, "pin"], "must be a protocol revision in the form YYYY-MM-DD");
}

/** Wrapped, because a cache in the options may hold results. */
export function readClientOptions(reader: EntryReader, key: string): SecretValue<ClientOptions> | undefined {
  const given = reader.raw(key);
  if (given === undefined) return undefined;
  if (isRecord(given)) return new SecretValue<ClientOptions>({ ...given });
  return reader.report(key, "must be an object with options of the SDK's client");
}

/** A text that must be given. */
function readRequired(reader: EntryReader, key: string, missing: string): string | undefined {
  return reader.has(key) ? reader.text(key) : reader.report(key, missing);
}

export function readCommand(reader: EntryReader, key: string, baseDir?: string): string | undefined {
  const command = readRequired(reader, key, "is missing; give the program to start");
  return command === undefined || baseDir === undefined ? command : resolveCommand(baseDir, command);
}

export function readDirectory(reader: EntryReader, key: string, baseDir?: string): string | undefined {
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

export function readEncoding(reader: EntryReader, key: string): string | undefined {
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

export function readImage(reader: EntryReader, key: string): string | undefined {
  const image = readRequired(reader, key, "is missing; give the name of a container image");
  // The engine's command line would read it as an option.
  return image?.startsWith("-") ? reader.report(key, 'must not start with "-"') : image;
}

export function readMounts(reader: EntryReader, key: string): readonly string[] | undefined {
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

export function readAuthProvider(
  reader: EntryReader,
  key: string,
): AuthProvider | OAuthClientProvider | undefined {
  const provider = reader.raw(key) as Partial<AuthProvider & OAuthClientProvider> | null | undefined;
  if (provider === undefined) return undefined;
  if (typeof provider?.token === "function" || typeof provider?.tokens === "function") {
    return provider as AuthProvider | OAuthClientProvider;
  }
  return reader.report(key, "must be an AuthProvider or OAuthClientProvider of the MCP SDK");
}
