/** Remembers the identities of verified tokens, so that a token is checked once in five minutes. */
import crypto from "node:crypto";
import type { Identity } from "./identity.js";

const MAX_AGE_MS = 300_000;
const MAX_ENTRIES = 10_000;

/** Moving an entry with every request would fill the map with deleted places, which live until a full garbage collection. */
const MOVE_MS = 1_000;

interface Entry {
  readonly identity: Identity;
  /** Milliseconds since 1970. */
  readonly until: number;
  /** When the entry was moved to the end. */
  movedAt: number;
}

/** One call is twice as fast as an object. Other runtimes than Node may lack it. */
const hash = crypto.hash as typeof crypto.hash | undefined;

/** A header is hashed once in this time. */
const RECENT_MS = 1_000;
const MAX_RECENT = 1_000;

/** By the SHA-256 of the token: a heap dump contains no usable token, but for those of the last second. */
export class VerifiedTokens {
  /** The least recently used is the first, to the second. */
  readonly #entries = new Map<string, Entry>();
  readonly #now: () => number;
  /** By `Authorization` header. Emptied every second: tokens are not kept, and the hash of a token costs as much as a short call. */
  readonly #recent = new Map<string, Entry>();
  #emptying: ReturnType<typeof setTimeout> | undefined;

  constructor(now: () => number) {
    this.#now = now;
  }

  static keyOf(token: string): string {
    return hash === undefined
      ? crypto.createHash("sha256").update(token).digest("base64")
      : hash("sha256", token, "base64");
  }

  /** The identity of a header that was passed to `get` less than a second ago. */
  recent(header: string): Identity | undefined {
    const entry = this.#recent.get(header);
    return entry !== undefined && entry.until > this.#now() ? entry.identity : undefined;
  }

  /** @param header the header with the token */
  get(key: string, header: string): Identity | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    const now = this.#now();
    const isOver = entry.until <= now;
    if (isOver || now - entry.movedAt >= MOVE_MS) {
      this.#entries.delete(key);
      if (isOver) return undefined;
      entry.movedAt = now;
      this.#entries.set(key, entry);
    }
    this.#remember(header, entry);
    return entry.identity;
  }

  /** Until the token ends, or for five minutes. */
  add(key: string, identity: Identity): void {
    const now = this.#now();
    const until = Math.min(identity.expiresAt ?? Number.POSITIVE_INFINITY, now + MAX_AGE_MS);
    this.#entries.set(key, { identity, until, movedAt: now });
    if (this.#entries.size <= MAX_ENTRIES) return;
    const [oldest] = this.#entries.keys();
    if (oldest !== undefined) this.#entries.delete(oldest);
  }

  close(): void {
    clearTimeout(this.#emptying);
    this.#emptying = undefined;
    this.#recent.clear();
  }

  #remember(header: string, entry: Entry): void {
    if (this.#recent.size >= MAX_RECENT) this.#recent.clear();
    this.#recent.set(header, entry);
    if (this.#emptying !== undefined) return;
    this.#emptying = setTimeout(() => this.close(), RECENT_MS);
    if (typeof this.#emptying === "object") this.#emptying.unref?.();
  }
}
