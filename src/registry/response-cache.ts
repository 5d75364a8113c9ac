/** Answers of a registry, kept with what is needed to ask whether they still hold. */
import type { Store } from "../state/store.js";
import { hashText } from "../util/hash-text.js";
import { fieldOf, isFields, textOf } from "./fields.js";

/** An answer as it came. */
export interface CachedResponse {
  readonly body: string;
  readonly etag: string | undefined;
  readonly lastModified: string | undefined;
  /** When the registry last said that it holds. */
  readonly confirmedAt: number;
  /** How long after that the registry needs not be asked. */
  readonly freshMs: number;
}

export interface ResponseCache {
  get(url: string): Promise<CachedResponse | undefined>;
  put(url: string, answer: CachedResponse): Promise<void>;
  delete(url: string): Promise<void>;
}

/** A larger answer is asked for anew every time. */
export const MAX_CACHED_CHARS = 2 * 1024 * 1024;
const MAX_MEMORY_CHARS = 16 * 1024 * 1024;
const SHORTEST_LIFE_MS = 7 * 24 * 60 * 60 * 1_000;

/** Keeps the answers used last, 16 million characters of them at most. */
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
      // Moved to the end: the first of a map is the one not used for longest.
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

/** Keeps answers in a store, sealed: a command may be made of them, so nobody without the key may change one. */
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

/** Two addresses may have the same fingerprint, and a record may be of another version: both count as none. */
function readCached(value: unknown, url: string): CachedResponse | undefined {
  if (!isFields(value) || fieldOf(value, "url") !== url) return undefined;
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

/** How long an answer holds by its `Cache-Control`; undefined: it must not be kept. */
export function maxAgeMs(headers: Headers): number | undefined {
  const said = (headers.get("cache-control") ?? "").toLowerCase();
  if (/(?:^|[\s,])no-store(?:$|[\s,])/.test(said)) return undefined;
  if (/(?:^|[\s,])no-cache(?:$|[\s,])/.test(said)) return 0;
  const seconds = Number(/(?:^|[\s,])max-age=(\d{1,9})(?:$|[\s,])/.exec(said)?.[1] ?? 0);
  // What a registry lists may turn out to be harmful and be deleted: nobody should rely on it for long.
  return Math.min(seconds, 3_600) * 1_000;
}
