/** Caches resources for the time to live that their server gives. Every principal has its own cache. */
import type { ResourceContents } from "@toolport/base";

const MAX_ENTRIES = 512;
/** Total length of all contents. */
const MAX_CHARACTERS = 16 * 1024 * 1024;
/** Upper bound of the time to live. */
const MAX_TTL_MS = 24 * 60 * 60 * 1_000;

interface CachedResource {
  readonly contents: readonly ResourceContents[];
  readonly until: number;
  readonly characters: number;
}

/** When a read began. A change after that makes its result too old to be cached. */
export type ReadMark = number;

export class ResourceCache {
  /** Least recently used first. */
  readonly #entries = new Map<string, CachedResource>();
  /** When a resource of the server last changed. */
  readonly #changes = new Map<string, ReadMark>();
  #characters = 0;
  #clock = 0;

  get(server: string, uri: string): ResourceContents[] | undefined {
    const key = keyOf(server, uri);
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    this.#delete(key, entry);
    if (Date.now() >= entry.until) return undefined;
    this.#set(key, entry);
    return entry.contents.map((content) => ({ ...content }));
  }

  begin(): ReadMark {
    return ++this.#clock;
  }

  /** Caches the contents, unless a resource of the server has changed since the read began. */
  keep(
    { server, uri, ttlMs }: { server: string; uri: string; ttlMs: number },
    contents: readonly ResourceContents[],
    begun: ReadMark,
  ): void {
    if (!(ttlMs > 0) || (this.#changes.get(server) ?? 0) > begun) return;
    const characters = contents.reduce(
      (sum, { text, blob }) => sum + (text ?? blob ?? "").length,
      uri.length,
    );
    if (characters > MAX_CHARACTERS / 4) return;
    const key = keyOf(server, uri);
    const known = this.#entries.get(key);
    if (known !== undefined) this.#delete(key, known);
    this.#set(key, {
      contents: contents.map((content) => ({ ...content })),
      until: Date.now() + Math.min(ttlMs, MAX_TTL_MS),
      characters,
    });
    for (const [oldest, entry] of this.#entries) {
      if (this.#entries.size <= MAX_ENTRIES && this.#characters <= MAX_CHARACTERS) break;
      this.#delete(oldest, entry);
    }
  }

  /** A resource has changed; without a URI, any resource of the server. */
  forget(server: string, uri?: string): void {
    this.#changes.set(server, ++this.#clock);
    const prefix = keyOf(server, "");
    for (const [key, entry] of this.#entries)
      if (uri === undefined ? key.startsWith(prefix) : key === prefix + uri) this.#delete(key, entry);
  }

  #set(key: string, entry: CachedResource): void {
    this.#entries.set(key, entry);
    this.#characters += entry.characters;
  }

  #delete(key: string, entry: CachedResource): void {
    this.#entries.delete(key);
    this.#characters -= entry.characters;
  }
}

const keyOf = (server: string, uri: string): string => `${server}\u0000${uri}`;
