/** Sends requests to a registry with retries and a cache. Uses a stale response while the registry is unavailable. */
import type { HeadersOption } from "../config/server-entry.js";
import { ConnectionError } from "../errors/connection-error.js";
import { toToolportError } from "../errors/to-toolport-error.js";
import { ToolportError } from "../errors/toolport-error.js";
import { backoffMs } from "../util/backoff.js";
import { sleep } from "../util/sleep.js";
import { InvalidValue } from "./fields.js";
import { type RegistryResponse, readErrorBody, toBadResponse, toStatusError } from "./registry-error.js";
import type { RegistryCallOptions, RegistryWarning } from "./registry-options.js";
import type { StaleAnswer } from "./registry-server.js";
import { type CachedResponse, MAX_CACHED_CHARS, maxAgeMs, type ResponseCache } from "./response-cache.js";
import { sendRequest } from "./send-request.js";

/** Settings of a client, with all defaults. */
export interface RequestSettings {
  readonly fetch: typeof globalThis.fetch;
  readonly headers: HeadersOption | undefined;
  readonly userAgent: string;
  readonly timeoutMs: number;
  readonly maxTimeoutMs: number;
  readonly maxAttempts: number;
  readonly baseMs: number;
  readonly maxBytes: number;
  readonly cache: ResponseCache | undefined;
  readonly freshMs: number;
  readonly maxStaleMs: number;
  readonly warn: (warning: RegistryWarning) => void;
}

/** One request. */
export interface RegistryRequest<T extends object> {
  readonly url: URL;
  /** Validates the JSON of the response. */
  readonly read: (value: unknown) => T | InvalidValue;
  /** The error for a 404 in the registry's error format. @default HTTP_STATUS */
  readonly notFound?: (() => ToolportError) | undefined;
  /** Send once, without cache and retries. @default false */
  readonly isLive?: boolean | undefined;
  readonly options: RegistryCallOptions;
}

/** The value of a response, with information if it is stale. */
export interface Lookup<T> {
  readonly value: T;
  readonly stale: StaleAnswer | undefined;
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
      const given = typeof settings.headers === "function" ? await settings.headers() : settings.headers;
      const answer = await sendRequest(request.url, {
        fetch: settings.fetch,
        headers: { accept: "application/json", "user-agent": settings.userAgent, ...given, ...conditions },
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

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return new InvalidValue("it is not JSON");
  }
}

function conditionsFor(kept: CachedResponse | undefined): Record<string, string> {
  const conditions: Record<string, string> = {};
  if (kept?.etag !== undefined) conditions["if-none-match"] = kept.etag;
  if (kept?.lastModified !== undefined) conditions["if-modified-since"] = kept.lastModified;
  return conditions;
}

/** Sends all requests of a client. */
export class RegistryRequests {
  readonly #settings: RequestSettings;

  constructor(settings: RequestSettings) {
    this.#settings = settings;
  }

  /** Returns the registry's response, or the last cached one while the registry is unavailable. */
  async find<T extends object>(request: RegistryRequest<T>): Promise<Lookup<T>> {
    if (request.isLive === true) return { value: await this.#fetch(request, undefined), stale: undefined };
    const kept = await this.#kept(request);
    if (kept !== undefined && ageOf(kept) < Math.max(kept.freshMs, this.#settings.freshMs)) {
      return { value: kept.value, stale: undefined };
    }
    try {
      return { value: await this.#fetch(request, kept), stale: undefined };
    } catch (error) {
      if (request.options.signal?.aborted) throw error;
      if (kept === undefined || !isOutage(error) || ageOf(kept) >= this.#settings.maxStaleMs) throw error;
      const stale: StaleAnswer = { ageMs: ageOf(kept), error };
      const message = `${request.url.host} is unavailable (${error.code}); the cached response is ${stale.ageMs} ms old`;
      this.#settings.warn({ kind: "stale", message, stale });
      return { value: kept.value, stale };
    }
  }

  async #fetch<T extends object>(
    request: RegistryRequest<T>,
    kept: (CachedResponse & { value: T }) | undefined,
  ): Promise<T> {
    const { url, read } = request;
    let answer: RegistryResponse;
    try {
      answer = await requestWithRetries(this.#settings, request, conditionsFor(kept));
    } catch (error) {
      if (ToolportError.isInstance(error) && error.code === "UNKNOWN_SERVER") await this.#forget(request);
      throw error;
    }
    if (answer.status === 304 && kept !== undefined) {
      await this.#keep(request, answer, kept);
      return kept.value;
    }
    const json = parse(answer.text);
    const value = json instanceof InvalidValue ? json : read(json);
    if (value instanceof InvalidValue) throw toBadResponse(answer, url.host, value.problem);
    await this.#keep(request, answer);
    return value;
  }

  /** The cached response, if it is still valid. */
  async #kept<T extends object>({ url, read }: RegistryRequest<T>) {
    const kept = await this.#withCache((cache) => cache.get(url.href));
    if (kept === undefined) return undefined;
    const json = parse(kept.body);
    const value = json instanceof InvalidValue ? json : read(json);
    return value instanceof InvalidValue ? undefined : { ...kept, value };
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
    const kept: CachedResponse = {
      body,
      etag: answer.headers.get("etag") ?? before?.etag,
      lastModified: answer.headers.get("last-modified") ?? before?.lastModified,
      confirmedAt: Date.now(),
      freshMs,
    };
    await this.#withCache((cache) => cache.put(request.url.href, kept));
  }

  async #forget({ url }: RegistryRequest<object>): Promise<void> {
    await this.#withCache((cache) => cache.delete(url.href));
  }

  /** A failure of the cache does not fail the request. */
  async #withCache<T>(use: (cache: ResponseCache) => Promise<T>): Promise<T | undefined> {
    const { cache, warn } = this.#settings;
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
