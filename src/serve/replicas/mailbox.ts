/** Requests from one replica to another through the store: an answer that reaches the wrong replica is handed to the one that waits. */

import { StateError } from "../../errors/toolport-error.js";
import type { Store } from "../../state/store.js";
import { onSharedAbort, timerMs } from "../../util/timers.js";
import { BEAT_TTL_MS, createIncomingLetters, type LetterHandler, unknownLetter } from "./incoming-letters.js";
import {
  beatKey,
  cancelKey,
  type Letter,
  LetterError,
  letterKey,
  MAIL,
  readLetter,
  writeLetter,
} from "./letter.js";

/** Options of {@link Mailbox.send}. */
export interface SendOptions {
  /** The user that the body comes from. Only a handler of the same user gets it. */
  readonly principal: string | undefined;
  /** Ends the wait: the handler's signal aborts. */
  readonly signal?: AbortSignal | undefined;
  /** Maximum time until the reply. @default 600000 */
  readonly waitMs?: number | undefined;
}

/** The mailbox of one replica. */
export interface Mailbox {
  /** The id of this replica: others send to it. */
  readonly replica: string;
  /**
   * Expects letters with this id from one user. `principal` must be given, undefined for a gateway without users.
   *
   * @returns a function that stops it: later letters are unknown
   */
  receive(id: string, handler: LetterHandler, options: { principal: string | undefined }): () => void;
  /**
   * Sends a JSON body and returns the reply. Each letter is handled at most once. Rejects with a `LetterError`:
   * `UNDELIVERABLE` within 5 s if the replica is dead, `UNKNOWN_LETTER` at once if it does not expect the letter,
   * `REPLICA_LOST` within 5 s if it dies while it works, `LETTER_FAILED` if its handler failed; with a `StateError` if the
   * store is away.
   */
  send(to: string, id: string, body: unknown, options: SendOptions): Promise<unknown>;
  /** Stops receiving. Handlers that run are aborted. */
  close(): void;
}

/** Options of {@link createMailbox}. */
export interface MailboxOptions {
  /** A name that no other replica and no earlier start has. @default random */
  readonly replica?: string | undefined;
  /** A replica that does not take a letter within this time is dead. @default 3500 */
  readonly takeMs?: number | undefined;
}

/** With the time for writing and withdrawing the letter the sender knows after 5 s, on a busy machine too. */
const TAKE_MS = 3_500;
const WAIT_MS = 600_000;

/**
 * Opens the mailbox of this replica.
 *
 * @example
 * ```ts
 * const mailbox = createMailbox(store);
 * mailbox.receive(callId, async (answers) => finish(answers), { principal });
 * // on another replica:
 * await mailbox.send(replica, callId, answers, { principal });
 * ```
 */
export function createMailbox(
  store: Store,
  { replica = crypto.randomUUID(), takeMs = TAKE_MS }: MailboxOptions = {},
): Mailbox {
  const incoming = createIncomingLetters(store, replica);
  const waiting = new Map<string, LetterNotices>();
  /** The letters that wait for a replica, by the key of its beat. */
  const byBeat = new Map<string, Set<LetterNotices>>();
  const own = letterKey(replica, "");
  const closing = new AbortController();

  const stopWatching = store.watch(MAIL, (key) => {
    if (key.startsWith(own)) return incoming.notice(key);
    waiting.get(key)?.onLetter();
    const beaten = byBeat.get(key);
    if (beaten !== undefined) for (const notices of beaten) notices.beatAt = performance.now();
  });

  const follow = (to: string, key: string, notices: LetterNotices): (() => void) => {
    const beat = beatKey(to);
    const others = byBeat.get(beat) ?? new Set();
    byBeat.set(beat, others.add(notices));
    waiting.set(key, notices);
    return () => {
      waiting.delete(key);
      others.delete(notices);
      if (others.size === 0) byBeat.delete(beat);
    };
  };

  return {
    replica,
    receive: (id, handler, { principal }) => incoming.expect(id, principal, handler),
    async send(to, id, body, { principal, signal, waitMs = WAIT_MS }) {
      const signals = signal === undefined ? [closing.signal] : [closing.signal, signal];
      for (const one of signals) one.throwIfAborted();
      const request = { kind: "request", id, principal: principal ?? null, body } as const;
      if (to === replica) return await incoming.handle(request, signal);
      const key = letterKey(to, crypto.randomUUID());
      const notices: LetterNotices = { onLetter: () => {}, beatAt: Number.NEGATIVE_INFINITY };
      const unfollow = follow(to, key, notices);
      try {
        return await sendLetter(store, { to, key, request, takeMs, waitMs, signals }, notices);
      } finally {
        unfollow();
      }
    },
    close() {
      closing.abort(new Error("The gateway is closed"));
      stopWatching();
      incoming.close();
    },
  };
}

/** What is sent, and how long to wait. */
interface OutgoingLetter {
  readonly to: string;
  readonly key: string;
  readonly request: Extract<Letter, { kind: "request" }>;
  /** The replica has to take the letter within this time. */
  readonly takeMs: number;
  /** The replica has to answer within this time. */
  readonly waitMs: number;
  /** Each of them ends the wait. */
  readonly signals: readonly AbortSignal[];
}

/** Notices for one letter. */
interface LetterNotices {
  /** The record of the letter changed. */
  onLetter: () => void;
  /** When the other replica was last seen alive, by the clock of `performance.now()`. */
  beatAt: number;
}

/** A letter that was not taken stays this much longer, in case its sender ends before it can withdraw it. */
const SPARE_TTL_MS = 10_000;
/** How long a cancel notice stays readable after a lost connection. */
const CANCEL_TTL_MS = 10_000;
/** Without a beat for this time the other replica is checked. More than three of its beats. */
const SILENCE_MS = BEAT_TTL_MS + 500;
/** After a read that failed. */
const READ_AGAIN_MS = 500;

/**
 * Sends the letter and returns the reply.
 *
 * @param notices kept up to date by the mailbox
 */
async function sendLetter(store: Store, letter: OutgoingLetter, notices: LetterNotices): Promise<unknown> {
  const { key, to, request, takeMs, waitMs, signals } = letter;
  const bell = createBell(notices, signals);
  let isSent = false;
  try {
    const sentVersion = await store.put(key, writeLetter(request), {
      ifVersion: 0,
      ttlMs: takeMs + SPARE_TTL_MS,
      secret: true,
    });
    isSent = true;
    const endsAt = performance.now() + waitMs;
    let checkAt = performance.now() + takeMs;
    let isTaken = false;
    for (;;) {
      const isNotice = await bell.wait(Math.min(checkAt, endsAt));
      const now = performance.now();
      // A beat alone moves the time of the check.
      if (!isNotice && isTaken && now < endsAt && notices.beatAt + SILENCE_MS > now) {
        checkAt = notices.beatAt + SILENCE_MS;
        continue;
      }
      const found = await readState(store, key, request);
      if (found === "away" && isNotice) {
        checkAt = Math.min(checkAt, now + READ_AGAIN_MS);
        continue;
      }
      if (typeof found === "object") {
        store.delete(key).catch(() => {});
        return found.value;
      }
      if (found === "accepted" && !isTaken) {
        isTaken = true;
        notices.beatAt = performance.now();
        checkAt = notices.beatAt + SILENCE_MS;
      }
      if (isNotice || (now < checkAt && now < endsAt)) continue;
      if (!isTaken) {
        // Only a letter that is still unread can be withdrawn, so it never runs after this error.
        if (sentVersion !== undefined && (await store.delete(key, { ifVersion: sentVersion })))
          throw undeliverable();
        // It was taken just now: read it.
        notices.onLetter();
        checkAt = performance.now() + READ_AGAIN_MS;
      } else if (now >= endsAt || (await store.get(beatKey(to))) === undefined) throw lost();
      else checkAt = performance.now() + READ_AGAIN_MS;
    }
  } catch (error) {
    withdraw(store, key, error);
    // The replica may have the letter, and only the store knows.
    throw isSent && StateError.isInstance(error) ? lost() : error;
  } finally {
    bell.close();
  }
}

/** Errors after which the other replica does not work on the letter. */
const SETTLED: readonly string[] = ["UNDELIVERABLE", "UNKNOWN_LETTER", "LETTER_FAILED"];

/** Deletes the letter, and tells a replica that may work on it that no sender waits. What cannot be deleted expires. */
function withdraw(store: Store, key: string, reason: unknown): void {
  const isSettled = LetterError.isInstance(reason) && SETTLED.includes(reason.code);
  store
    .delete(key)
    .then(async (isDeleted) => {
      if (isDeleted && !isSettled) await store.put(cancelKey(key), true, { ttlMs: CANCEL_TTL_MS });
    })
    .catch(() => {});
}

/** The reply, or how far the letter is. Throws what the other replica answered with. */
async function readState(
  store: Store,
  key: string,
  request: Letter,
): Promise<{ value: unknown } | "sent" | "accepted" | "away"> {
  const record = await store.get(key).catch(() => "away" as const);
  if (record === "away") return "away";
  if (record === undefined) throw lost();
  const letter = readLetter(record);
  if (letter?.kind === request.kind) return "sent";
  if (letter?.kind === "accepted") return "accepted";
  if (letter?.kind === "reply") return { value: letter.value };
  if (letter?.kind === "unknown") throw unknownLetter();
  throw new LetterError({
    code: "LETTER_FAILED",
    what: letter?.kind === "failed" ? letter.message : "The reply has a format that this version cannot read",
    next: "Check what the call has done before you repeat it",
  });
}

/** Waits for a notice or a time. Rejects when a signal aborts. */
function createBell(notices: LetterNotices, signals: readonly AbortSignal[]) {
  let hasRung = false;
  let wake = (): void => {};
  notices.onLetter = () => {
    hasRung = true;
    wake();
  };
  const stops = signals.map((signal) => onSharedAbort(signal, () => wake()));
  const throwIfAborted = (): void => {
    for (const signal of signals) signal.throwIfAborted();
  };
  return {
    /** True for a notice, false when the time is up. */
    async wait(until: number): Promise<boolean> {
      throwIfAborted();
      if (!hasRung) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, timerMs(until - performance.now()));
          wake = () => {
            clearTimeout(timer);
            resolve();
          };
        });
        throwIfAborted();
      }
      const isNotice = hasRung;
      hasRung = false;
      return isNotice;
    },
    close() {
      for (const stop of stops) stop();
      notices.onLetter = () => {};
    },
  };
}

const undeliverable = (): LetterError =>
  new LetterError({
    code: "UNDELIVERABLE",
    what: "The replica that holds this call has ended, so the answer was not delivered",
    next: "Check what the call has done before you repeat it",
  });

const lost = (): LetterError =>
  new LetterError({
    code: "REPLICA_LOST",
    what: "The replica that holds this call ended or did not reply, so the outcome is unknown",
    next: "Check what the call has done before you repeat it",
  });
