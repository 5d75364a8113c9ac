/** Requests from one replica to another through the store: an answer that reaches the wrong replica is handed to the one that waits. */
import type { Store } from "../../state/store.js";
import { createIncomingLetters, type LetterHandler } from "./incoming-letters.js";
import { beatKey, letterKey, MAIL } from "./letter.js";
import { type LetterNotices, sendLetter } from "./outgoing-letter.js";

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
