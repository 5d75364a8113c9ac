/** Outgoing messages: one write per turn of the microtask queue, with back-pressure that always settles. */
import type { Writable } from "node:stream";

export interface OutboxErrors {
  /** For a message that never left this process. */
  readonly unsent: () => Error;
  /** For a message that may have been read. */
  readonly unknown: () => Error;
}

interface Sender {
  resolve(): void;
  reject(error: Error): void;
}

/** Above this a batch is written at once, so that its sender feels the back-pressure. */
const BATCH_CHARS = 64 * 1_024;
const SENT = Promise.resolve();

/**
 * Collects lines and writes them together: with many calls in flight this is the cheapest system call saved. While the
 * pipe is full, lines wait here, and it is known that they did not leave.
 */
export class Outbox {
  readonly #stream: Writable;
  readonly #errors: OutboxErrors;
  #lines: string[] = [];
  #chars = 0;
  /** The pipe is full: nothing is written before it drains. */
  #blocked = false;
  #scheduled = false;
  #closed = false;
  #waitingToWrite: Sender[] = [];
  #waitingForDrain: Sender[] = [];
  readonly #flush = () => this.#write();

  constructor(stream: Writable, errors: OutboxErrors) {
    this.#stream = stream;
    this.#errors = errors;
    stream.on("drain", () => this.#drained());
  }

  /** Resolves when the line was handed to the pipe; waits while the pipe is full. */
  send(line: string): Promise<void> {
    if (this.#closed) return Promise.reject(this.#errors.unsent());
    this.#lines.push(line);
    this.#chars += line.length;
    if (!this.#blocked && this.#chars < BATCH_CHARS) {
      if (!this.#scheduled) {
        this.#scheduled = true;
        queueMicrotask(this.#flush);
      }
      return SENT;
    }
    if (this.#blocked) return this.#wait(this.#waitingToWrite);
    this.#write();
    return this.#blocked ? this.#wait(this.#waitingForDrain) : SENT;
  }

  /** Nothing more can be sent: whoever waits is told, with what is known of the message's fate. */
  close(): void {
    if (this.#closed) return;
    // What was accepted in this very turn still goes out.
    if (!this.#blocked) this.#write();
    this.#closed = true;
    this.#lines = [];
    for (const sender of this.#waitingForDrain.splice(0)) sender.reject(this.#errors.unknown());
    for (const sender of this.#waitingToWrite.splice(0)) sender.reject(this.#errors.unsent());
  }

  #wait(list: Sender[]): Promise<void> {
    return new Promise((resolve, reject) => list.push({ resolve, reject }));
  }

  #write(): void {
    this.#scheduled = false;
    if (this.#closed || this.#blocked || this.#lines.length === 0) return;
    const batch = this.#lines.length === 1 ? this.#lines[0]! : this.#lines.join("");
    this.#lines = [];
    this.#chars = 0;
    if (this.#stream.writable) this.#blocked = !this.#stream.write(batch);
  }

  #drained(): void {
    this.#blocked = false;
    for (const sender of this.#waitingForDrain.splice(0)) sender.resolve();
    this.#waitingForDrain = this.#waitingToWrite;
    this.#waitingToWrite = [];
    this.#write();
    if (!this.#blocked) for (const sender of this.#waitingForDrain.splice(0)) sender.resolve();
  }
}
