/**
 * Messages from one replica to another through the store: an answer that reaches the wrong replica is handed to the one that waits.
 *
 * Each message is one record. The sender writes it, the replica that takes it writes over it, and the sender deletes it when it no
 * longer waits. While a replica works on the message it renews the record, which expires when the replica dies.
 */
import { BoundedMap, pause, retryFor, StateError, ToolportError } from "@toolport/base";
import type { Store, StoredRecord } from "@toolport/stores";

export type MessageErrorCode =
  /** The replica did not take the message and never will: it has ended. */
  | "UNDELIVERABLE"
  /** The replica does not expect a message with this id for this principal. No handler ran. */
  | "UNKNOWN_MESSAGE"
  /** The replica took the message and ended, or takes too long. It may have run. */
  | "REPLICA_LOST"
  /** The replica handled the message with an error. */
  | "MESSAGE_FAILED";

/**
 * Thrown when a replica cannot hand work over to another one. Its outcome is always unknown: even if the message was not
 * delivered, the call that it belongs to may have run.
 */
export class MessageError extends ToolportError<MessageErrorCode> {
  static override readonly kind = "MessageError";
  override readonly name = "MessageError";
}

/**
 * Handles the body of a message; the result has to be JSON. The signal aborts when the sender no longer waits, and when the mailbox is
 * closed.
 */
export type MessageHandler = (
  body: unknown,
  context: { readonly principal: string | undefined; readonly signal: AbortSignal },
) => Promise<unknown>;

/** The record of a message: first the request, then what the replica makes of it. */
type Message =
  | {
      readonly kind: "request";
      readonly id: string;
      readonly principal: string | null;
      readonly body: unknown;
    }
  /** The replica works on it. */
  | { readonly kind: "accepted" }
  | { readonly kind: "reply"; readonly value: unknown }
  /** The replica does not know the id. */
  | { readonly kind: "unknown" }
  | { readonly kind: "failed"; readonly message: string };

const ACCEPTED: Message = { kind: "accepted" };
const UNKNOWN: Message = { kind: "unknown" };

type Request = Extract<Message, { kind: "request" }>;
type WriteOptions = { readonly ifVersion: number; readonly ttlMs: number };

const FORMAT = 2;
/** The prefix of all messages. */
const MESSAGES = "serve/mail/";
/**
 * A replica that neither takes a message nor renews its record within this time is dead. With the time for reading and deleting
 * the record its sender knows after 5 s, on a busy machine too.
 */
const ALIVE_MS = 3_500;
const RENEW_EVERY_MS = 1_000;
/** The sender reads the record at this interval, in case a notice was lost. It gets no notice when the record expires. */
const READ_EVERY_MS = 500;
/** The longest time until the reply. */
const WORK_LIMIT_MS = 600_000;
/** A message that was not taken stays this much longer, in case its sender ends before it can withdraw it. */
const SPARE_TTL_MS = 10_000;
/** How long a reply waits for a sender that is slow to read it. */
const REPLY_TTL_MS = 60_000;
/** More is not saved as a record: the sender gets an error. */
const MAX_REPLY_CHARACTERS = 32 * 1_024 * 1_024;
/** Messages whose keys are remembered, so that a record that was written again by an attacker is not handled again. */
const MAX_REMEMBERED = 10_000;

/**
 * The mailbox of one replica.
 *
 * @example
 * ```ts
 * const mailbox = new Mailbox(store);
 * mailbox.receive(callId, async (answers) => finish(answers), { principal });
 * // on another replica:
 * await mailbox.send(replica, callId, answers, { principal });
 * ```
 */
export class Mailbox {
  /** The id of this replica: others send to it. */
  readonly replica: string;
  readonly #takeMs: number;
  readonly #handlers = new Map<string, { principal: string | null; handler: MessageHandler }>();
  readonly #taken = new BoundedMap<string, true>(MAX_REMEMBERED);
  /** Messages that are being handled, by their key. Aborted when the sender no longer waits. */
  readonly #working = new Map<string, AbortController>();
  /** Senders that wait for a notice, by the key of their message. */
  readonly #waiting = new Map<string, () => void>();
  readonly #closing = new AbortController();
  readonly #stopWatching: () => void;

  /** @param options a name that no other replica and no earlier start has; after `takeMs`, a replica that takes no message is dead */
  constructor(
    private readonly store: Store,
    { replica = crypto.randomUUID(), takeMs = ALIVE_MS }: { replica?: string; takeMs?: number } = {},
  ) {
    this.replica = replica;
    this.#takeMs = takeMs;
    const own = `${MESSAGES}${replica}/`;
    this.#stopWatching = store.watch(MESSAGES, (key) => {
      if (key.startsWith(own)) this.#onNotice(key);
      else this.#waiting.get(key)?.();
    });
  }

  /**
   * Expects messages with this id from one user. `principal` must be given, undefined for a gateway without users.
   *
   * @returns a function that stops it: later messages are unknown
   */
  receive(id: string, handler: MessageHandler, { principal }: { principal: string | undefined }): () => void {
    const entry = { principal: principal ?? null, handler };
    this.#handlers.set(id, entry);
    return () => {
      if (this.#handlers.get(id) === entry) this.#handlers.delete(id);
    };
  }

  /**
   * Sends a JSON body and returns the reply. Each message is handled at most once. Rejects with a `MessageError`:
   * `UNDELIVERABLE` within 5 s if the replica is dead, `UNKNOWN_MESSAGE` at once if it does not expect the message,
   * `REPLICA_LOST` within 5 s if it dies while it works, `MESSAGE_FAILED` if its handler failed; with a `StateError` if the
   * store is away.
   *
   * @param principal the user that the body comes from: only a handler of the same user gets it. Its signal ends the wait
   */
  async send(
    to: string,
    id: string,
    body: unknown,
    { principal, signal }: { principal: string | undefined; signal?: AbortSignal | undefined },
  ): Promise<unknown> {
    const closing = this.#closing.signal;
    const ended = signal === undefined ? closing : AbortSignal.any([closing, signal]);
    ended.throwIfAborted();
    const request: Request = { kind: "request", id, principal: principal ?? null, body };
    // Needs no store.
    if (to === this.replica) return await this.#handle(request, ended);
    const key = `${MESSAGES}${to}/${crypto.randomUUID()}`;
    try {
      await this.#write(key, request, { ifVersion: 0, ttlMs: this.#takeMs + SPARE_TTL_MS });
      return await this.#replyTo(key, ended);
    } finally {
      this.#waiting.delete(key);
      // Tells a replica that works on the message that no sender waits. What cannot be deleted expires.
      this.store.delete(key).catch(() => {});
    }
  }

  /** Stops receiving. Handlers that run are aborted. */
  close(): void {
    this.#closing.abort(new Error("The gateway is closed"));
    this.#stopWatching();
    this.#handlers.clear();
  }

  /** The reply to a message that was sent. */
  async #replyTo(key: string, signal: AbortSignal): Promise<unknown> {
    try {
      const sent = await this.#readWhile(["request"], key, this.#takeMs, signal);
      // Only a message that is still unread can be withdrawn, so it never runs after this error.
      if (sent.message?.kind === "request" && (await this.store.delete(key, { ifVersion: sent.version })))
        throw toError("UNDELIVERABLE");
      const { message } = await this.#readWhile(["request", "accepted"], key, WORK_LIMIT_MS, signal);
      if (message === undefined) throw failed("The reply has a format that this version cannot read");
      if (message.kind === "reply") return message.value;
      if (message.kind === "unknown") throw toError("UNKNOWN_MESSAGE");
      throw message.kind === "failed" ? failed(message.message) : toError("REPLICA_LOST");
    } catch (error) {
      // The replica may have the message, and only the store knows.
      throw StateError.isInstance(error) ? toError("REPLICA_LOST") : error;
    }
  }

  /** Reads the record after each notice until the message is none of these kinds, or until the time is over. */
  async #readWhile(
    kinds: readonly Message["kind"][],
    key: string,
    limitMs: number,
    signal: AbortSignal,
  ): Promise<{ message: Message | undefined; version: number }> {
    const until = performance.now() + limitMs;
    for (;;) {
      // Before reading, so that no change is missed.
      const notice = new Promise<void>((resolve) => this.#waiting.set(key, resolve));
      const record = await retryFor(ALIVE_MS, signal, () => this.store.get(key));
      if (record === undefined) throw toError("REPLICA_LOST");
      const message = readMessage(record);
      const leftMs = until - performance.now();
      if (message === undefined || !kinds.includes(message.kind) || leftMs <= 0)
        return { message, version: record.version };
      await Promise.race([notice, pause(Math.min(leftMs, READ_EVERY_MS), signal)]);
    }
  }

  /** A record of this replica was written or deleted. */
  #onNotice(key: string): void {
    if (this.#taken.has(key) && !this.#working.has(key)) return;
    // The sender finds out that a message was not taken.
    retryFor(ALIVE_MS, this.#closing.signal, () => this.#take(key)).catch(() => {});
  }

  /** Takes and handles a new message. It is written over by compare-and-set, so that one process takes it, once. */
  async #take(key: string): Promise<void> {
    const record = await this.store.get(key);
    if (record === undefined) return this.#working.get(key)?.abort(withdrawn());
    if (this.#taken.has(key) || this.#closing.signal.aborted) return;
    const request = readMessage(record);
    // Another version sent a message that this one cannot read. It must be answered, so that its sender need not wait.
    if (request === undefined ? !record.sealed : request.kind !== "request") return;
    const isExpected = request?.kind === "request" && this.#handlerOf(request) !== undefined;
    const version = await this.#write(key, isExpected ? ACCEPTED : UNKNOWN, {
      ifVersion: record.version,
      ttlMs: isExpected ? ALIVE_MS : REPLY_TTL_MS,
    });
    if (version === undefined) return;
    this.#taken.set(key, true);
    if (isExpected) await this.#work(key, request, version);
  }

  /** Handles a message that this replica has taken. Its record is renewed meanwhile, and then gets the reply. */
  async #work(key: string, request: Request, takenVersion: number): Promise<void> {
    const closing = this.#closing.signal;
    const work = new AbortController();
    this.#working.set(key, work);
    const handled = this.#handle(request, AbortSignal.any([closing, work.signal]))
      .then(toReply)
      .catch(toFailure);
    let version = takenVersion;
    for (;;) {
      // A closed mailbox renews nothing, but replies if its handler ends now.
      const pausing = pause(RENEW_EVERY_MS, closing).then(
        () => undefined,
        () => handled,
      );
      const reply = await Promise.race([handled, pausing]);
      if (reply !== undefined) {
        // The store may be away just when the reply is there.
        const save = () => this.#overwrite(key, reply, { ifVersion: version, ttlMs: REPLY_TTL_MS });
        await retryFor(REPLY_TTL_MS, closing, save).catch(() => {});
        break;
      }
      // A store that is away for a moment does not end the work.
      const renewal = { ifVersion: version, ttlMs: ALIVE_MS };
      const renewed = await this.#overwrite(key, ACCEPTED, renewal).catch(() => version);
      if (renewed === undefined) {
        work.abort(withdrawn());
        break;
      }
      version = renewed;
    }
    this.#working.delete(key);
  }

  /** Writes over a message that this replica has taken. Undefined: the sender has deleted it, or it expired. */
  async #overwrite(key: string, message: Message, options: WriteOptions): Promise<number | undefined> {
    const written = await this.#write(key, message, options);
    if (written !== undefined) return written;
    // An earlier write may have arrived although it failed.
    const record = await this.store.get(key);
    return record && this.#overwrite(key, message, { ...options, ifVersion: record.version });
  }

  #write(key: string, message: Message, options: WriteOptions): Promise<number | undefined> {
    return this.store.put(key, { format: FORMAT, ...message }, { ...options, secret: true });
  }

  /** Handles a message, also one of this replica to itself. */
  async #handle(request: Request, signal: AbortSignal): Promise<unknown> {
    const handler = this.#handlerOf(request);
    if (handler === undefined) throw toError("UNKNOWN_MESSAGE");
    return await handler(request.body, { principal: request.principal ?? undefined, signal });
  }

  /** A message of another user gets the same answer as one for an unknown id. */
  #handlerOf({ id, principal }: Request): MessageHandler | undefined {
    const expected = this.#handlers.get(id);
    return expected?.principal === principal ? expected.handler : undefined;
  }
}

/**
 * The content of a record; undefined if another version wrote it. A record without the store's seal was not written by a
 * replica.
 */
function readMessage({ value, sealed }: StoredRecord): Message | undefined {
  const message = (value ?? {}) as Message & { format?: unknown };
  return sealed && message.format === FORMAT ? message : undefined;
}

function toReply(value: unknown): Message {
  const size = JSON.stringify(value)?.length ?? 0;
  if (size <= MAX_REPLY_CHARACTERS) return { kind: "reply", value };
  return {
    kind: "failed",
    message: `The result has ${size} characters; a hand-over carries ${MAX_REPLY_CHARACTERS}`,
  };
}

function toFailure(error: unknown): Message {
  if (MessageError.isInstance(error) && error.code === "UNKNOWN_MESSAGE") return UNKNOWN;
  return { kind: "failed", message: error instanceof Error ? error.message : String(error) };
}

const withdrawn = (): Error => new Error("The other replica no longer waits");

const TEXTS: Readonly<Record<Exclude<MessageErrorCode, "MESSAGE_FAILED">, string>> = {
  UNKNOWN_MESSAGE: "The replica does not wait for this answer (any more)",
  UNDELIVERABLE: "The replica that holds this call has ended, so the answer was not delivered",
  REPLICA_LOST: "The replica that holds this call ended or did not reply, so the outcome is unknown",
};
const NEXT = "Check what the call has done before you repeat it";

const toError = (code: keyof typeof TEXTS) => new MessageError({ code, what: TEXTS[code], next: NEXT });
const failed = (what: string) => new MessageError({ code: "MESSAGE_FAILED", what, next: NEXT });
