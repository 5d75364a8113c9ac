/** Remembers the identities of verified tokens, so that a token is checked once in five minutes. */
import { createHash } from "node:crypto";
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

/** By the SHA-256 of the token: a heap dump contains no usable token. */
export class VerifiedTokens {
  /** The least recently used is the first, to the second. */
  readonly #entries = new Map<string, Entry>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  static keyOf(token: string): string {
    return createHash("sha256").update(token).digest("base64");
  }

  get(key: string): Identity | undefined {
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
}
