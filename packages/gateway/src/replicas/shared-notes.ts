/** Small facts that all replicas know from memory: ended sessions, log levels, subscriptions. Written to the store, followed by `watch`. */

import { backoffMs, callSafely, pause, retryFor } from "@toolport/base";
import type { Store } from "@toolport/stores";
import { isPast } from "./seal.js";

/** A fact with a time of validity. */
export interface Note {
  /** Any JSON value. */
  readonly value: unknown;
  /** When it ends, in milliseconds since 1970. */
  readonly until: number;
}

/** A replicated map. */
export type SharedNotes = ReturnType<typeof createSharedNotes>;

const MAX_NOTES = 100_000;
/** Reads under way at once. */
const MAX_READS = 32;
/** Expired notes are removed after this number of changes. */
const SWEEP_EVERY = 1_000;

/**
 * A map that all replicas with this store share. Every replica has all of it in memory.
 *
 * @param options of more notes than `maxNotes` the oldest are forgotten
 * @example
 * ```ts
 * const ended = createSharedNotes(store, "serve/ended/");
 * await ended.set(sessionHash, true, 3_600_000);
 * ended.get(sessionHash)?.value; // true, on every replica
 * ```
 */
export function createSharedNotes(
  store: Store,
  prefix: string,
  { maxNotes = MAX_NOTES }: { maxNotes?: number | undefined } = {},
) {
  const notes = new Map<string, Note>();
  const listeners = new Set<(key: string, note: Note | undefined) => void>();
  /** Keys to read from the store. */
  const unread = new Set<string>();
  /** The latest read of a key. If it is not that of the map, the key has changed meanwhile, and the result must not be used. */
  const reading = new Map<string, symbol>();
  /** Changes of this process that the store does not have yet. Undefined: a deletion. */
  const unsaved = new Map<string, Note | undefined>();
  const saving = new Map<string, Promise<void>>();
  const closing = new AbortController();
  const { signal } = closing;
  let changes = 0;
  /** Keys of the first list that are not known yet. */
  const toLoad = new Set<string>();
  let onLoaded = (): void => {};
  const known = (key: string): void => {
    if (toLoad.delete(key) && toLoad.size === 0) onLoaded();
  };

  const apply = (key: string, note: Note | undefined): void => {
    const before = notes.get(key);
    if (before === undefined && note === undefined) return;
    if (before !== undefined && note !== undefined && isSame(before, note)) return;
    // Deleted first, so that the order of the map is the order of the changes.
    notes.delete(key);
    if (note !== undefined) notes.set(key, note);
    if (++changes % SWEEP_EVERY === 0) sweep();
    for (const oldest of notes.keys()) {
      if (notes.size <= maxNotes) break;
      notes.delete(oldest);
    }
    for (const listener of [...listeners]) {
      callSafely(
        () => listener(key, note),
        () => {},
      );
    }
  };

  const sweep = (): void => {
    for (const [key, note] of notes) if (isOver(note)) notes.delete(key);
  };

  /** Reads what was reported as changed. Keys that cannot be read stay in the list and are read when the store is back. */
  const readChanges = async (): Promise<void> => {
    let failures = 0;
    for (;;) {
      const [key] = unread;
      if (key === undefined || signal.aborted) return;
      unread.delete(key);
      const latest = Symbol(key);
      reading.set(key, latest);
      try {
        const record = await store.get(prefix + key);
        failures = 0;
        if (reading.get(key) !== latest) continue;
        apply(key, record === undefined ? undefined : readNote(record));
        known(key);
      } catch {
        unread.add(key);
        await pause(backoffMs(++failures + 1, { baseMs: 200, maxMs: 2_000 }), signal).catch(() => {});
      } finally {
        if (reading.get(key) === latest) reading.delete(key);
      }
    }
  };

  let readers = 0;
  const read = (key: string): void => {
    if (signal.aborted) return;
    // A change while the key is being read: the result may be older.
    reading.delete(key);
    unread.add(key);
    if (readers >= MAX_READS) return;
    readers++;
    void readChanges().finally(() => {
      readers--;
    });
  };

  /** Saves the latest change of a key; at most one write of a key is under way. */
  const save = async (key: string): Promise<void> => {
    while (unsaved.has(key)) {
      const note = unsaved.get(key);
      if (note === undefined) await store.delete(prefix + key);
      else {
        const ttlMs = note.until - Date.now();
        // Sealed: who can only write to the database can neither end a session nor subscribe for a user.
        if (ttlMs > 0) await store.put(prefix + key, note, { ttlMs, secret: true });
      }
      if (unsaved.get(key) === note) unsaved.delete(key);
    }
    // Another process may have written right after, and its notice was ignored.
    read(key);
  };

  const change = (key: string, note: Note | undefined): Promise<void> => {
    reading.delete(key);
    unsaved.set(key, note);
    apply(key, note);
    known(key);
    const running = saving.get(key);
    if (running !== undefined) return running;
    const first = save(key);
    saving.set(key, first);
    const done = (): void => void saving.delete(key);
    first.catch(() => retryFor(Number.POSITIVE_INFINITY, signal, () => save(key))).then(done, done);
    return first;
  };

  const stopWatching = store.watch(prefix, (key) => {
    const name = key.slice(prefix.length);
    // A change that is not saved yet wins; the key is read when it is.
    if (!unsaved.has(name)) read(name);
  });

  const loadAll = async (): Promise<void> => {
    const keys = await retryFor(Number.POSITIVE_INFINITY, signal, () => store.list(prefix));
    for (const key of keys) toLoad.add(key.slice(prefix.length));
    if (toLoad.size === 0 || signal.aborted) return;
    const loaded = new Promise<void>((resolve) => {
      onLoaded = resolve;
    });
    for (const key of toLoad) read(key);
    await loaded;
  };

  return {
    /** Resolves when this process knows the notes that were in the store at its start. Never rejects; waits for a store that is away. */
    ready: loadAll().catch(() => {}),
    /** From memory: costs no store operation. Notes may outlive their time by a minute, because clocks differ. */
    get(key: string): Note | undefined {
      const note = notes.get(key);
      return note === undefined || isOver(note) ? undefined : note;
    },
    /** All notes, from memory. */
    *entries(): Iterable<[key: string, note: Note]> {
      for (const entry of notes) if (!isOver(entry[1])) yield entry;
    },
    /**
     * Known in this process at once, in other processes within 2 s. Resolves when it is saved. Rejects with a StateError if the
     * store is away; it is then saved as soon as the store is back.
     */
    set: (key: string, value: unknown, ttlMs: number) => change(key, { value, until: Date.now() + ttlMs }),
    /** Like `set`. */
    delete: (key: string) => change(key, undefined),
    /** Called after every change, by this process or another. Returns a function that stops it. */
    onChange(listener: (key: string, note: Note | undefined) => void): () => void {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    /** Stops following the store. What is not saved yet is lost to the other processes. */
    close(): void {
      closing.abort();
      stopWatching();
      listeners.clear();
      onLoaded();
    },
  };
}

const isOver = ({ until }: Note): boolean => isPast(until);

const isSame = (a: Note, b: Note): boolean =>
  a.until === b.until && JSON.stringify(a.value) === JSON.stringify(b.value);

/** A record that was written without the store's key, or by a version with another format, is no note. */
function readNote({ value, sealed }: { value: unknown; sealed: boolean }): Note | undefined {
  const { value: content, until } = (value ?? {}) as Partial<Note>;
  if (!sealed || content === undefined || typeof until !== "number") return undefined;
  return { value: content, until };
}
