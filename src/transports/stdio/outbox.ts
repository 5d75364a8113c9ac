/** Outgoing messages: one write at a time, each with all that was said meanwhile, and the fate of every line known. */
import type { Writable } from "node:stream";

export interface OutboxErrors {
  /** For a message that never left this process. */
  readonly unsent: () => Error;
  /** For a message that may have been read. */
  readonly unknown: () => Error;
}

/** A socket takes this much whole or not at all, so a failed write of it delivered nothing. */
const ATOMIC_CHARS = 4 * 1_024;

/** Lines that are written together. */
class Batch {
  readonly sent: Promise<void>;
  #lines: string[] = [];
  #chars = 0;
  #resolve!: () => void;
  #reject!: (error: Error) => void;

  constructor() {
    this.sent = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    // Whoever sent something looks at it; a batch nobody looks at must not become an unhandled rejection.
    this.sent.catch(() => {});
  }

  add(line: string): void {
    this.#lines.push(line);
    this.#chars += line.length;
  }

  get text(): string {
    return this.#lines.length === 1 ? this.#lines[0]! : this.#lines.join("");
  }

  /** A write of it that failed delivered no whole line: a single line lacks its end, a short batch went nowhere. */
  get allOrNothing(): boolean {
    return this.#lines.length === 1 || this.#chars <= ATOMIC_CHARS;
  }

  settle(error?: Error): void {
    if (error === undefined) this.#resolve();
    else this.#reject(error);
  }
}

/**
 * Collects lines and writes them together: with many calls in flight that saves the most system calls. While a write is
 * under way, lines wait here, and it is known that they did not leave.
 */
export class Outbox {
  readonly #stream: Writable;
  readonly #errors: OutboxErrors;
  #next: Batch | undefined;
  #writing: Batch | undefined;
  #scheduled = false;
  #closed = false;

  constructor(stream: Writable, errors: OutboxErrors) {
    this.#stream = stream;
    this.#errors = errors;
  }

  /** Resolves when the pipe took the line; rejects with what is known of its fate when it did not. */
  send(line: string): Promise<void> {
    if (this.#closed) return Promise.reject(this.#errors.unsent());
    this.#next ??= new Batch();
    this.#next.add(line);
    if (!this.#scheduled && this.#writing === undefined) {
      this.#scheduled = true;
      queueMicrotask(this.#flush);
    }
    return this.#next.sent;
  }

  /** Nothing more can be sent: whoever waits is told, with what is known of the message's fate. */
  close(): void {
    if (this.#closed) return;
    // What was accepted in this very turn still goes out.
    if (this.#writing === undefined) this.#flush();
    this.#closed = true;
    this.#next?.settle(this.#errors.unsent());
    this.#next = undefined;
  }

  /** The stream is gone, and with it the write under way. */
  abandon(): void {
    this.close();
    this.#writing?.settle(this.#errors.unknown());
    this.#writing = undefined;
  }

  readonly #flush = (): void => {
    this.#scheduled = false;
    const batch = this.#next;
    if (batch === undefined || this.#closed) return;
    this.#next = undefined;
    if (!this.#stream.writable) return batch.settle(this.#errors.unsent());
    this.#writing = batch;
    this.#stream.write(batch.text, (error) => this.#written(batch, error));
  };

  #written(batch: Batch, error: Error | null | undefined): void {
    if (error) batch.settle(batch.allOrNothing ? this.#errors.unsent() : this.#errors.unknown());
    // Node calls back without an error when the stream was destroyed under the write.
    else batch.settle(this.#stream.destroyed ? this.#errors.unknown() : undefined);
    if (this.#writing !== batch) return;
    this.#writing = undefined;
    if (this.#next !== undefined && !this.#scheduled) this.#flush();
  }
}
