/** Writes outgoing messages in batches, one write at a time, and knows for every message whether it was sent. */
import type { Writable } from "node:stream";

export interface OutboxErrors {
  /** For a message that was not sent. */
  readonly unsent: () => Error;
  /** For a message that the server may have read. */
  readonly unknown: () => Error;
}

/** A socket writes this much completely or not at all, so a failed write of it delivered nothing. */
const ATOMIC_CHARS = 4 * 1_024;

/** Taken when the module is loaded: a test that replaces the timers does not stop the pipes. */
const { setImmediate: afterPoll } = globalThis;

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
    // Avoid an unhandled rejection when no caller awaits.
    this.sent.catch(() => {});
  }

  add(line: string): void {
    this.#lines.push(line);
    this.#chars += line.length;
  }

  /** Whether one more line leaves the batch short enough. */
  takes(line: string): boolean {
    return this.#chars + line.length <= ATOMIC_CHARS;
  }

  get text(): string {
    return this.#lines.length === 1 ? this.#lines[0]! : this.#lines.join("");
  }

  /** Whether a failed write delivered no complete line: a single line lacks its end, a short batch was not written. */
  get allOrNothing(): boolean {
    return this.#lines.length === 1 || this.#chars <= ATOMIC_CHARS;
  }

  settle(error?: Error): void {
    if (error === undefined) this.#resolve();
    else this.#reject(error);
  }
}

/**
 * Collects the lines of one turn of the event loop and writes them together. With many calls in flight most of the CPU is spent on
 * writes, because each wakes up the server. Lines that wait for the current write are known to be unsent.
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

  /** Resolves when the pipe has accepted the line; rejects with the `unsent` or the `unknown` error otherwise. */
  send(line: string): Promise<void> {
    if (this.#closed) return Promise.reject(this.#errors.unsent());
    if (this.#next !== undefined && this.#writing === undefined && !this.#next.takes(line)) this.#write();
    this.#next ??= new Batch();
    this.#next.add(line);
    if (!this.#scheduled && this.#writing === undefined) {
      this.#scheduled = true;
      afterPoll(this.#flush);
    }
    return this.#next.sent;
  }

  /** Rejects all waiting lines and all later ones. */
  close(): void {
    if (this.#closed) return;
    // Lines that were accepted in this turn are still written.
    if (this.#writing === undefined) this.#write();
    this.#closed = true;
    this.#next?.settle(this.#errors.unsent());
    this.#next = undefined;
  }

  /** The stream is closed: the current write has failed too. */
  abandon(): void {
    this.close();
    this.#writing?.settle(this.#errors.unknown());
    this.#writing = undefined;
  }

  readonly #flush = (): void => {
    this.#scheduled = false;
    if (this.#writing === undefined) this.#write();
  };

  #write(): void {
    const batch = this.#next;
    if (batch === undefined || this.#closed) return;
    this.#next = undefined;
    if (!this.#stream.writable) return batch.settle(this.#errors.unsent());
    this.#writing = batch;
    this.#stream.write(batch.text, (error) => this.#written(batch, error));
  }

  #written(batch: Batch, error: Error | null | undefined): void {
    if (error) batch.settle(batch.allOrNothing ? this.#errors.unsent() : this.#errors.unknown());
    // Node reports no error if the stream was destroyed during the write.
    else batch.settle(this.#stream.destroyed ? this.#errors.unknown() : undefined);
    if (this.#writing !== batch) return;
    this.#writing = undefined;
    if (this.#next !== undefined && !this.#scheduled) this.#write();
  }
}
