/** The letters that other replicas send to this one: each is taken once, handled, and answered. */
import type { Store } from "../../state/store.js";
import { backoffMs, pause, unrefTimer } from "../../util/timers.js";
import { beatKey, cancelledLetter, type Letter, LetterError, readLetter, writeLetter } from "./letter.js";

/** What a handler knows about a letter. */
export interface LetterContext {
  readonly principal: string | undefined;
  /** Aborts when the sender no longer waits, and when the mailbox is closed. */
  readonly signal: AbortSignal;
}

/** Handles the body of a letter; the result has to be JSON. */
export type LetterHandler = (body: unknown, context: LetterContext) => Promise<unknown>;

type LetterRequest = Extract<Letter, { kind: "request" }>;

/** While letters are being handled, the replica says at this interval that it is alive. */
const BEAT_EVERY_MS = 1_000;
/** A beat is visible for this time. */
export const BEAT_TTL_MS = 3_000;
/** How long a record waits for a sender that is slow to read it. */
const REPLY_TTL_MS = 60_000;
/** How long a handler may take, at most. */
const WORK_TTL_MS = 3_600_000;
/** More is not saved as a record: the sender gets an error. */
const MAX_REPLY_CHARACTERS = 32 * 1_024 * 1_024;
/** Letters whose keys are remembered, so that a record that was written again by an attacker is not handled again. */
const MAX_REMEMBERED = 10_000;

/** The receiving side of a mailbox. */
export function createIncomingLetters(store: Store, replica: string) {
  const handlers = new Map<string, { principal: string | null; handler: LetterHandler }>();
  const taken = new Set<string>();
  /** Letters that are being handled. */
  const working = new Map<string, AbortController>();
  const closing = new AbortController();
  let beating: ReturnType<typeof setInterval> | undefined;

  const beat = (): void => {
    store.put(beatKey(replica), Date.now(), { ttlMs: BEAT_TTL_MS }).catch(() => {});
  };
  const startWork = (key: string): AbortController => {
    const controller = new AbortController();
    working.set(key, controller);
    if (beating === undefined) {
      beat();
      beating = unrefTimer(setInterval(beat, BEAT_EVERY_MS));
    }
    return controller;
  };
  const endWork = (key: string): void => {
    working.delete(key);
    if (working.size > 0) return;
    clearInterval(beating);
    beating = undefined;
  };

  /** Handles a letter, also one of this replica to itself. */
  const handle = async (
    { id, principal, body }: LetterRequest,
    signal: AbortSignal = closing.signal,
  ): Promise<unknown> => {
    const expected = handlers.get(id);
    // A letter of another user gets the same answer as one for an unknown id.
    if (expected === undefined || expected.principal !== principal) throw unknownLetter();
    return await expected.handler(body, { principal: principal ?? undefined, signal });
  };

  /** The record is changed by compare-and-set, so that each letter is taken by one process once. */
  const take = async (key: string): Promise<void> => {
    const record = await store.get(key);
    if (record === undefined || taken.has(key) || closing.signal.aborted) return;
    const letter = readLetter(record);
    // A newer version sent a letter that this one cannot read. It must be answered, so that its sender need not wait.
    if (letter === undefined && !record.sealed) return;
    if (letter !== undefined && letter.kind !== "request") return;
    const isKnown = letter !== undefined && handlers.get(letter.id)?.principal === letter.principal;
    const first: Letter = isKnown ? { kind: "accepted" } : { kind: "unknown" };
    const version = await store.put(key, writeLetter(first), {
      ifVersion: record.version,
      ttlMs: isKnown ? WORK_TTL_MS : REPLY_TTL_MS,
      secret: true,
    });
    if (version === undefined) return;
    remember(key);
    if (letter !== undefined && isKnown) await work(key, letter, version);
  };

  const remember = (key: string): void => {
    taken.add(key);
    for (const oldest of taken) {
      if (taken.size <= MAX_REMEMBERED) break;
      taken.delete(oldest);
    }
  };

  const work = async (key: string, letter: LetterRequest, ifVersion: number): Promise<void> => {
    const { signal } = startWork(key);
    try {
      const answer = await handle(letter, signal).then(toReply).catch(toFailure);
      // A sender that gave up deleted the record: then the write is refused.
      await untilSaved(() =>
        store.put(key, writeLetter(answer), { ifVersion, ttlMs: REPLY_TTL_MS, secret: true }),
      );
    } finally {
      endWork(key);
    }
  };

  /** The store may be away just when the answer is there. */
  const untilSaved = async (save: () => Promise<unknown>): Promise<void> => {
    const until = performance.now() + REPLY_TTL_MS;
    for (let attempt = 2; ; attempt++) {
      try {
        await save();
        return;
      } catch {
        if (performance.now() > until || closing.signal.aborted) return;
        await pause(backoffMs(attempt, { baseMs: 200, maxMs: 2_000 }), closing.signal).catch(() => {});
      }
    }
  };

  return {
    expect(id: string, principal: string | undefined, handler: LetterHandler): () => void {
      const entry = { principal: principal ?? null, handler };
      handlers.set(id, entry);
      return () => {
        if (handlers.get(id) === entry) handlers.delete(id);
      };
    },
    /** A notice about a record of this replica. */
    notice(key: string): void {
      if (key === beatKey(replica)) return;
      const cancelled = cancelledLetter(key);
      if (cancelled !== undefined) {
        // Only the first notice finds the record.
        store.delete(key).catch(() => {});
        working.get(cancelled)?.abort(new Error("The other replica no longer waits"));
        return;
      }
      if (taken.has(key)) return;
      // The sender finds out that a letter was not taken; a notice that could not be read is tried once more.
      take(key)
        .catch(() => pause(500, closing.signal).then(() => take(key)))
        .catch(() => {});
    },
    handle,
    close(): void {
      closing.abort(new Error("The gateway is closed"));
      for (const controller of working.values()) controller.abort(closing.signal.reason);
      clearInterval(beating);
      handlers.clear();
    },
  };
}

function toReply(value: unknown): Letter {
  const size = JSON.stringify(value)?.length ?? 0;
  if (size <= MAX_REPLY_CHARACTERS) return { kind: "reply", value };
  return {
    kind: "failed",
    message: `The result has ${size} characters; a hand-over carries ${MAX_REPLY_CHARACTERS}`,
  };
}

function toFailure(error: unknown): Letter {
  if (LetterError.isInstance(error) && error.code === "UNKNOWN_LETTER") return { kind: "unknown" };
  return { kind: "failed", message: error instanceof Error ? error.message : String(error) };
}

export const unknownLetter = (): LetterError =>
  new LetterError({
    code: "UNKNOWN_LETTER",
    what: "The replica does not wait for this answer (any more)",
    next: "Check what the call has done before you repeat it",
  });
