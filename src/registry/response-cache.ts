/** Caches responses of a registry with their validators. */
import type { Store } from "../state/store.js";
import { hashText } from "../util/hash-text.js";
import { isRecord } from "../util/is-record.js";
import { fieldOf, textOf } from "./fields.js";

/** A cached response. */
export interface CachedResponse {
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
export const MAX_CACHED_CHARS = 2 * 1024 * 1024;
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
export function maxAgeMs(headers: Headers): number | undefined {
  const said = (headers.get("cache-control") ?? "").toLowerCase();
  if (/(?:^|[\s,])no-store(?:$|[\s,])/.test(said)) return undefined;
  if (/(?:^|[\s,])no-cache(?:$|[\s,])/.test(said)) return 0;
  const seconds = Number(/(?:^|[\s,])max-age=(\d{1,9})(?:$|[\s,])/.exec(said)?.[1] ?? 0);
  // At most one hour: a registry may delete a harmful server at any time.
  return Math.min(seconds, 3_600) * 1_000;
}
