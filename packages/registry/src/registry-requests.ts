/** Sends requests to a registry with retries and a cache. Uses a stale response while the registry is unavailable. */
import {
  backoffMs,
  ConnectionError,
  canParseUrl,
  fromHttpStatus,
  fromSystemError,
  hashText,
  isRecord,
  parseJson,
  redactText,
  sleep,
  ToolCallError,
  ToolportError,
  toToolportError,
  withDeadline,
} from "@toolport/base";
import { parseRetryAfter } from "@toolport/http";
import type { Store } from "@toolport/stores";
import type { McpRegistryClientOptions, RegistryCallOptions, RegistryWarning } from "./registry-options.js";
import { fieldOf, InvalidValue, type StaleAnswer, textOf, unlessInvalid } from "./server-json.js";

/** Settings of a client, with all defaults. */
interface RequestSettings
  extends Required<Omit<McpRegistryClientOptions, "baseUrl" | "headers" | "retry" | "cache" | "onWarning">> {
  readonly headers: McpRegistryClientOptions["headers"];
  readonly maxAttempts: number;
  readonly baseMs: number;
  readonly cache: ResponseCache | undefined;
  readonly warn: (warning: RegistryWarning) => void;
}

/** One request. */
interface RegistryRequest<T extends object> {
  readonly url: URL;
  /** Validates the JSON of the response. Throws {@link InvalidValue}. */
  readonly read: (value: unknown) => T;
  /** The error for a 404 in the registry's error format. @default HTTP_STATUS */
  readonly notFound?: (() => ToolportError) | undefined;
  /** Send once, without cache and retries. @default false */
  readonly isLive?: boolean | undefined;
  readonly options: RegistryCallOptions;
}

/** Sends a request and retries it while that can help and time is left. */
async function requestWithRetries(
  settings: RequestSettings,
  request: RegistryRequest<object>,
  conditions: Readonly<Record<string, string>>,
): Promise<RegistryResponse> {
  const { signal, timeoutMs = settings.timeoutMs } = request.options;
  const deadline = performance.now() + Math.max(settings.maxTimeoutMs, timeoutMs);
  const maxAttempts = request.isLive === true ? 1 : settings.maxAttempts;
  for (let attempt = 1; ; attempt++) {
    try {
      const headers = typeof settings.headers === "function" ? await settings.headers() : settings.headers;
      const answer = await sendRequest(request.url, {
        fetch: settings.fetch,
        headers: { accept: "application/json", "user-agent": settings.userAgent, ...headers, ...conditions },
        signal,
        timeoutMs: Math.min(timeoutMs, Math.max(1, Math.ceil(deadline - performance.now()))),
        maxBytes: settings.maxBytes,
      });
      if (answer.status < 400) return answer;
      throw toResponseError(answer, request);
    } catch (thrown) {
      if (signal?.aborted) throw signal.reason;
      const error = toToolportError(thrown, { server: request.url.host });
      if (!error.retryable) throw error;
      const asked = error instanceof ConnectionError ? error.retryAfterMs : undefined;
      const waitMs = asked ?? backoffMs(attempt + 1, { baseMs: settings.baseMs });
      if (attempt >= maxAttempts || performance.now() + waitMs >= deadline) throw error;
      await sleep(waitMs, signal);
    }
  }
}

/** A 404 in the registry's error format is about the server; any other 404 is about the URL. */
function toResponseError(
  answer: RegistryResponse,
  { url, notFound }: RegistryRequest<object>,
): ToolportError {
  const isMissing = answer.status === 404 && notFound !== undefined && readErrorBody(answer.text).isRegistry;
  return isMissing ? notFound() : toStatusError(answer, url.host);
}

/** Failures of the registry or the network, as opposed to a definite response. */
const isOutage = (error: unknown): error is ToolportError =>
  ToolportError.isInstance(error) && (error.retryable || error.code === "BAD_RESPONSE");

function parse<T extends object>(text: string, read: RegistryRequest<T>["read"]): T | InvalidValue {
  const json = parseJson(text);
  return json === undefined ? new InvalidValue("it is not JSON") : unlessInvalid(() => read(json));
}

function conditionsFor(cached: CachedResponse | undefined): Record<string, string> {
  const conditions: Record<string, string> = {};
  if (cached?.etag !== undefined) conditions["if-none-match"] = cached.etag;
  if (cached?.lastModified !== undefined) conditions["if-modified-since"] = cached.lastModified;
  return conditions;
}

/** Sends all requests of a client. */
export class RegistryRequests {
  constructor(readonly settings: RequestSettings) {}

  /** Returns the registry's response, or the last cached one, marked as `stale`, while the registry is unavailable. */
  async find<T extends object>(
    request: RegistryRequest<T>,
  ): Promise<{ value: T; stale?: StaleAnswer | undefined }> {
    if (request.isLive === true) return { value: await this.#fetch(request, undefined) };
    const cached = await this.#kept(request);
    if (cached !== undefined && ageOf(cached) < Math.max(cached.freshMs, this.settings.freshMs))
      return { value: cached.value };
    try {
      return { value: await this.#fetch(request, cached) };
    } catch (error) {
      if (request.options.signal?.aborted) throw error;
      if (cached === undefined || !isOutage(error) || ageOf(cached) >= this.settings.maxStaleMs) throw error;
      const stale: StaleAnswer = { ageMs: ageOf(cached), error };
      const message = `${request.url.host} is unavailable (${error.code}); the cached response is ${stale.ageMs} ms old`;
      this.settings.warn({ kind: "stale", message, stale });
      return { value: cached.value, stale };
    }
  }

  async #fetch<T extends object>(
    request: RegistryRequest<T>,
    cached: (CachedResponse & { value: T }) | undefined,
  ): Promise<T> {
    const { url, read } = request;
    let answer: RegistryResponse;
    try {
      answer = await requestWithRetries(this.settings, request, conditionsFor(cached));
    } catch (error) {
      if (ToolportError.isInstance(error) && error.code === "UNKNOWN_SERVER") await this.#forget(request);
      throw error;
    }
    if (answer.status === 304 && cached !== undefined) {
      await this.#keep(request, answer, cached);
      return cached.value;
    }
    const value = parse(answer.text, read);
    if (value instanceof InvalidValue) throw toBadResponse(answer, url.host, value.message);
    await this.#keep(request, answer);
    return value;
  }

  /** The cached response, if it is still valid. */
  async #kept<T extends object>({ url, read }: RegistryRequest<T>) {
    const cached = await this.#withCache((cache) => cache.get(url.href));
    if (cached === undefined) return undefined;
    const value = parse(cached.body, read);
    return value instanceof InvalidValue ? undefined : { ...cached, value };
  }

  async #keep(
    request: RegistryRequest<object>,
    answer: RegistryResponse,
    before?: CachedResponse,
  ): Promise<void> {
    if (request.isLive === true) return;
    const freshMs = maxAgeMs(answer.headers);
    const body = before?.body ?? answer.text;
    if (freshMs === undefined || body.length > MAX_CACHED_CHARS) return this.#forget(request);
    const cached: CachedResponse = {
      body,
      etag: answer.headers.get("etag") ?? before?.etag,
      lastModified: answer.headers.get("last-modified") ?? before?.lastModified,
      confirmedAt: Date.now(),
      freshMs,
    };
    await this.#withCache((cache) => cache.put(request.url.href, cached));
  }

  async #forget({ url }: RegistryRequest<object>): Promise<void> {
    await this.#withCache((cache) => cache.delete(url.href));
  }

  /** A failure of the cache does not fail the request. */
  async #withCache<T>(use: (cache: ResponseCache) => Promise<T>): Promise<T | undefined> {
    const { cache, warn } = this.settings;
    if (cache === undefined) return undefined;
    try {
      return await use(cache);
    } catch (error) {
      const why = ToolportError.isInstance(error) ? error.message : "see `error`";
      warn({ kind: "cache", message: `The cache of registry responses failed: ${why}`, error });
      return undefined;
    }
  }
}

/** Never negative, even if the clock was set back. */
const ageOf = ({ confirmedAt }: CachedResponse): number => Math.max(0, Date.now() - confirmedAt);

interface SendOptions extends Pick<RequestSettings, "fetch" | "timeoutMs" | "maxBytes"> {
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal | undefined;
}

const MAX_HOPS = 5;
const REDIRECTS: readonly number[] = [301, 302, 303, 307, 308];
/** Maximum size of error bodies. */
const MAX_ERROR_BYTES = 64 * 1024;

/** Sends a GET and reads the whole response. An abort rejects with the signal's reason. */
async function sendRequest(url: URL, options: SendOptions): Promise<RegistryResponse> {
  const { signal, timeoutMs } = options;
  signal?.throwIfAborted();
  const inner = new AbortController();
  try {
    const onTimeout = () => timeoutError(url.host, timeoutMs);
    return await withDeadline(followRedirects(url, options, inner.signal), { signal, timeoutMs, onTimeout });
  } catch (error) {
    const failure = signal?.aborted ? signal.reason : toFetchError(error, url.host);
    // The deadline does not cancel the request: abort it here.
    inner.abort(failure);
    throw failure;
  }
}

async function followRedirects(
  start: URL,
  options: SendOptions,
  signal: AbortSignal,
): Promise<RegistryResponse> {
  const { fetch, headers, maxBytes } = options;
  let url = start;
  for (let hop = 0; ; hop++) {
    const response = await fetch(url.href, { headers, redirect: "manual", signal });
    const { status } = response;
    const isRedirect = REDIRECTS.includes(status) || response.type === "opaqueredirect";
    if (!isRedirect) {
      const text = await readText(response, url.host, maxBytes);
      return { status, headers: response.headers, text };
    }
    await response.body?.cancel();
    url = nextHop(response, url, hop);
  }
}

function nextHop(response: Response, from: URL, hop: number): URL {
  const location = response.headers.get("location");
  const to = location !== null && canParseUrl(location, from.href) ? new URL(location, from) : undefined;
  if (to !== undefined && to.origin === from.origin && hop < MAX_HOPS) return to;
  const where = to === undefined ? "to an invalid URL" : `to ${to.protocol}//${to.host}`;
  const isLoop = to?.origin === from.origin;
  throw new ConnectionError({
    server: from.host,
    code: "ADDRESS_REFUSED",
    what: isLoop
      ? `The registry redirects more than ${MAX_HOPS} times`
      : `The registry redirects ${where}; redirects to another origin are not followed`,
    next: "Set `baseUrl` to the final URL of the registry",
    status: response.status,
  });
}

async function readText(response: Response, host: string, maxBytes: number): Promise<string> {
  if (response.body === null) return "";
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  const limit = response.status >= 400 ? Math.min(maxBytes, MAX_ERROR_BYTES) : maxBytes;
  let text = "";
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    size += value.byteLength;
    if (size > limit) {
      await reader.cancel();
      if (response.status >= 400) return text;
      throw new ConnectionError({
        server: host,
        code: "MESSAGE_TOO_LARGE",
        what: `The registry's response is larger than ${maxBytes} bytes`,
        next: "Request fewer entries with `limit`, or raise `maxBytes`",
        status: response.status,
      });
    }
    text += decoder.decode(value, { stream: true });
  }
}

/** A cached response. */
interface CachedResponse {
  readonly body: string;
  readonly etag: string | undefined;
  readonly lastModified: string | undefined;
  /** When the registry last confirmed the response. */
  readonly confirmedAt: number;
  /** How long after that the response is fresh. */
  readonly freshMs: number;
}

export interface ResponseCache {
  get(url: string): Promise<CachedResponse | undefined>;
  put(url: string, answer: CachedResponse): Promise<void>;
  delete(url: string): Promise<void>;
}

/** Larger responses are not cached. */
const MAX_CACHED_CHARS = 2 * 1024 * 1024;
const MAX_MEMORY_CHARS = 16 * 1024 * 1024;
const SHORTEST_LIFE_MS = 7 * 24 * 60 * 60 * 1_000;

/** A cache in memory that drops the least recently used responses. */
export function createMemoryCache(): ResponseCache {
  const answers = new Map<string, CachedResponse>();
  let chars = 0;
  const drop = (url: string) => {
    chars -= answers.get(url)?.body.length ?? 0;
    answers.delete(url);
  };
  return {
    async get(url) {
      const answer = answers.get(url);
      if (answer === undefined) return undefined;
      // Move to the end: the first entry of the map is the least recently used.
      answers.delete(url);
      answers.set(url, answer);
      return answer;
    },
    async put(url, answer) {
      drop(url);
      answers.set(url, answer);
      chars += answer.body.length;
      for (const oldest of answers.keys()) {
        if (chars <= MAX_MEMORY_CHARS) break;
        drop(oldest);
      }
    },
    async delete(url) {
      drop(url);
    },
  };
}

const keyOf = (url: string): string => `registry/${hashText(url)}`;

/** A cache in a store. Records are encrypted, because commands are built from them. */
export function createStoreCache(store: Store, maxStaleMs: number): ResponseCache {
  const ttlMs = Math.max(maxStaleMs, SHORTEST_LIFE_MS);
  return {
    async get(url) {
      const record = await store.get(keyOf(url));
      return record?.sealed === true ? readCached(record.value, url) : undefined;
    },
    async put(url, answer) {
      await store.put(keyOf(url), { url, ...answer }, { secret: true, ttlMs });
    },
    async delete(url) {
      await store.delete(keyOf(url));
    },
  };
}

/** Returns undefined for a hash collision or a record of another version. */
function readCached(value: unknown, url: string): CachedResponse | undefined {
  if (!isRecord(value) || fieldOf(value, "url") !== url) return undefined;
  const body = textOf(value, "body");
  const confirmedAt = fieldOf(value, "confirmedAt");
  const freshMs = fieldOf(value, "freshMs");
  if (body === undefined || typeof confirmedAt !== "number" || typeof freshMs !== "number") return undefined;
  return {
    body,
    confirmedAt,
    freshMs,
    etag: textOf(value, "etag"),
    lastModified: textOf(value, "lastModified"),
  };
}

/** Freshness by `Cache-Control`; undefined if the response must not be cached. */
function maxAgeMs(headers: Headers): number | undefined {
  const said = (headers.get("cache-control") ?? "").toLowerCase();
  if (/(?:^|[\s,])no-store(?:$|[\s,])/.test(said)) return undefined;
  if (/(?:^|[\s,])no-cache(?:$|[\s,])/.test(said)) return 0;
  const seconds = Number(/(?:^|[\s,])max-age=(\d{1,9})(?:$|[\s,])/.exec(said)?.[1] ?? 0);
  // At most one hour: a registry may delete a harmful server at any time.
  return Math.min(seconds, 3_600) * 1_000;
}

/** A response with its complete body. */
interface RegistryResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

const EXCERPT_CHARS = 200;

/** An excerpt of the registry's text for an error message. */
const quote = (text: string): string =>
  redactText(text)
    .slice(0, EXCERPT_CHARS)
    .replace(/[.\s]+$/, "");

/** Reads `{ error }` and problem+json (`title`, `detail`, `errors`). `isRegistry`: it is one of them, so no proxy sent it. */
function readErrorBody(text: string) {
  const value = parseJson(text);
  if (!isRecord(value)) return { isRegistry: false, detail: "", issues: [] };
  const said = textOf(value, "error") ?? textOf(value, "detail") ?? textOf(value, "title");
  const errors = fieldOf(value, "errors");
  const issues = (Array.isArray(errors) ? errors.slice(0, 20) : []).filter(isRecord).map((issue) => ({
    path: quote(textOf(issue, "location") ?? ""),
    message: quote(textOf(issue, "message") ?? ""),
  }));
  return { isRegistry: said !== undefined || issues.length > 0, detail: quote(said ?? ""), issues };
}

const colon = (detail: string): string => (detail === "" ? "" : `: ${detail}`);

/** The error for an HTTP status other than 2xx. */
function toStatusError({ status, headers, text }: RegistryResponse, host: string): ToolportError {
  if (status === 401 || status === 403) return fromHttpStatus(status, undefined, { server: host });
  const { detail, issues } = readErrorBody(text);
  if (status === 400 || status === 422) {
    return new ToolCallError({
      server: host,
      code: "INVALID_ARGUMENTS",
      what: `The registry rejected the request (HTTP ${status})${colon(detail)}`,
      next: issues.length > 0 ? "Correct the options in `issues`" : "Check the options",
      issues,
    });
  }
  const isBusy = status === 429 || status === 503;
  return new ConnectionError({
    server: host,
    code: "HTTP_STATUS",
    what: `The registry responded with HTTP ${status}${colon(detail)}`,
    next: status < 500 && !isBusy ? "Check that `baseUrl` is the URL of an MCP registry" : "Try again later",
    status,
    retryable: isBusy || status >= 500 || status === 408 || status === 425,
    retryAfterMs: parseRetryAfter(headers.get("retry-after")),
  });
}

/** The error for an unusable response. `why` is the end of a sentence. */
function toBadResponse({ status, headers, text }: RegistryResponse, host: string, why: string) {
  const type = quote(headers.get("content-type") ?? "none");
  return new ConnectionError({
    server: host,
    code: "BAD_RESPONSE",
    what: `The registry's response cannot be used, ${why} (HTTP ${status}, content type ${type})${colon(quote(text))}`,
    next: "Check that `baseUrl` is the URL of an MCP registry, and that no proxy or login page is in between",
    status,
  });
}

/** Converts errors of `fetch` and of reading a body. */
function toFetchError(error: unknown, host: string): ToolportError {
  if (ToolportError.isInstance(error)) return error;
  const known = fromSystemError(error, { server: host });
  if (known !== undefined) return known;
  // Outside Node, a failed fetch is a plain TypeError.
  return new ConnectionError({
    server: host,
    code: "UNREACHABLE",
    what: "The registry could not be reached, or the connection broke",
    next: "Check `baseUrl` and the network",
    retryable: true,
    cause: error,
  });
}

const timeoutError = (host: string, timeoutMs: number): ToolCallError =>
  new ToolCallError({
    server: host,
    code: "TIMEOUT",
    what: `The registry did not respond within ${timeoutMs} ms`,
    next: "Try again, or raise `timeoutMs`",
    phase: "registry",
    retryable: true,
  });
