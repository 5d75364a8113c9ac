/** One letter to another replica: written, followed until it is answered, and withdrawn if no replica takes it. */
import { StateError } from "../../errors/state-error.js";
import type { Store } from "../../state/store.js";
import { onSharedAbort } from "../../util/shared-abort.js";
import { timerMs } from "../../util/timers.js";
import { BEAT_TTL_MS, unknownLetter } from "./incoming-letters.js";
import { beatKey, cancelKey, type Letter, LetterError, readLetter, writeLetter } from "./letter.js";

/** What is sent, and how long to wait. */
export interface OutgoingLetter {
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
export interface LetterNotices {
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
export async function sendLetter(
  store: Store,
  letter: OutgoingLetter,
  notices: LetterNotices,
): Promise<unknown> {
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
