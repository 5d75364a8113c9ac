/** Texts that were too large for a model, in memory, so that it can read them in parts. One store for all users, one part for each. */
import { hashText, timerMs, unrefTimer, utf8Length } from "@toolport/base";

/** Where a text comes from. */
export interface ArtifactFacts {
  readonly server?: string | undefined;
  readonly tool?: string | undefined;
  readonly mimeType?: string | undefined;
}

export interface KeptArtifact extends ArtifactFacts {
  readonly id: string;
  readonly text: string;
  /** Size in UTF-8. */
  readonly bytes: number;
}

export interface ArtifactOptions {
  /** @default 64 MiB, for all users together */
  readonly maxBytes?: number;
  /** How long a text is kept after its last use. @default 1 hour */
  readonly lifeMs?: number;
  /** Makes the id of a text. @default 64 bits of a hash */
  readonly hash?: (text: string) => string;
}

const MAX_BYTES = 64 * 1024 * 1024;
const LIFE_MS = 60 * 60 * 1_000;

interface Entry extends KeptArtifact {
  readonly owner: ArtifactPart;
  expiresAt: number;
}

export class ArtifactStore {
  readonly maxBytes: number;
  readonly hash: (text: string) => string;
  readonly #lifeMs: number;
  /** The least recently used comes first, and is the first to expire. */
  readonly #entries = new Set<Entry>();
  #bytes = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor({ maxBytes = MAX_BYTES, lifeMs = LIFE_MS, hash = hashText }: ArtifactOptions = {}) {
    this.maxBytes = maxBytes;
    this.hash = hash;
    this.#lifeMs = lifeMs;
  }

  /** The texts of one user. */
  createPart(): ArtifactPart {
    return new ArtifactPart(this);
  }

  add(entry: Omit<Entry, "expiresAt">): Entry {
    const added: Entry = { ...entry, expiresAt: 0 };
    this.#bytes += added.bytes;
    this.touch(added);
    for (const oldest of this.#entries) {
      if (this.#bytes <= this.maxBytes) break;
      this.remove(oldest);
    }
    return added;
  }

  touch(entry: Entry): void {
    this.#entries.delete(entry);
    entry.expiresAt = performance.now() + this.#lifeMs;
    this.#entries.add(entry);
    this.#watch();
  }

  remove(entry: Entry): void {
    if (!this.#entries.delete(entry)) return;
    this.#bytes -= entry.bytes;
    entry.owner.forget(entry.id);
    if (this.#entries.size > 0) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  removeExpired(): void {
    const now = performance.now();
    for (const entry of this.#entries) {
      if (entry.expiresAt > now) return;
      this.remove(entry);
    }
  }

  /** Frees the memory of expired texts even if the store is not used again. */
  #watch(): void {
    const [oldest] = this.#entries;
    if (this.#timer !== undefined || oldest === undefined) return;
    const fire = () => {
      this.#timer = undefined;
      this.removeExpired();
      this.#watch();
    };
    this.#timer = unrefTimer(setTimeout(fire, timerMs(Math.ceil(oldest.expiresAt - performance.now()))));
  }
}

/** The texts of one user. */
export type Artifacts = Pick<ArtifactPart, "keep" | "get">;

export class ArtifactPart {
  readonly #entries = new Map<string, Entry>();
  #isClosed = false;

  constructor(private readonly store: ArtifactStore) {}

  /**
   * Keeps a text and returns its id. The same text has the same id. Undefined if the text is larger than the whole store, or if the
   * port is closed.
   */
  keep(text: string, facts: ArtifactFacts = {}): string | undefined {
    this.store.removeExpired();
    const bytes = utf8Length(text);
    if (this.#isClosed || bytes > this.store.maxBytes) return undefined;
    const name = this.store.hash(text);
    for (let copy = 1; ; copy += 1) {
      // Two texts may have the same hash.
      const id = copy === 1 ? name : `${name}-${copy}`;
      const known = this.#entries.get(id);
      if (known?.text === text) {
        this.store.touch(known);
        return id;
      }
      if (known !== undefined) continue;
      const { server, tool, mimeType } = facts;
      this.#entries.set(id, this.store.add({ id, text, bytes, server, tool, mimeType, owner: this }));
      return id;
    }
  }

  /** Undefined if the id is unknown, or no longer known. */
  get(id: string): KeptArtifact | undefined {
    this.store.removeExpired();
    const entry = this.#entries.get(id);
    if (entry !== undefined) this.store.touch(entry);
    return entry;
  }

  /** Called by the store. */
  forget(id: string): void {
    this.#entries.delete(id);
  }

  /** Removes all texts of this user, and keeps none from now on. */
  close(): void {
    this.#isClosed = true;
    for (const entry of this.#entries.values()) this.store.remove(entry);
  }
}
