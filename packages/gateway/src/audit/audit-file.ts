/** Appends lines to a file in batches, and says when too many wait. Keeps what could not be written, and tries again. */
import type * as FileSystem from "node:fs";
import { ConfigError, timerMs } from "@toolport/base";
import { Waiters } from "../waiters.js";

export interface AuditFileOptions {
  /** Lines wait at most this long before they are written. 0: each line is written before `append` returns. */
  readonly batchMs: number;
  /** How often the file is flushed to the disk, for a loss of power. `Infinity`: only at the end. */
  readonly fsyncMs: number;
  /** Lines that wait may have this many bytes, and those of the requests that are open then. */
  readonly maxBufferBytes: number;
  readonly warn: (message: string, cause?: unknown) => void;
  /** Everything that waited is written. */
  readonly onDrained: () => void;
}

const EVERYONE = 0o007;
const RETRY_MS = 1_000;
/** How often to check whether the file was renamed, as programs that rotate logs do. */
const CHECK_MS = 1_000;
/** The last line of an existing file is not longer than this. */
const TAIL_BYTES = 1 << 20;

export class AuditFile {
  #descriptor: number;
  #waiting: string[] = [];
  #waitingBytes = 0;
  /** When the oldest line that waits was added. */
  #waitingSince = 0;
  /** The batch that is written, and how much of it is. */
  #batch: Buffer | undefined;
  #written = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #syncTimer: ReturnType<typeof setTimeout> | undefined;
  #flushing: Promise<void> | undefined;
  #isFailing = false;
  #isClosed = false;
  /** Requests that wait for space. */
  readonly #waiters = new Waiters();
  #checkedAt = performance.now();

  private constructor(
    private readonly fs: typeof FileSystem,
    private readonly path: string,
    private readonly options: AuditFileOptions,
  ) {
    this.#descriptor = openForAppend(fs, path);
    this.#checkAccess();
  }

  /** @throws ConfigError if the file cannot be written */
  static async open(path: string, options: AuditFileOptions): Promise<AuditFile> {
    const fs = await import("node:fs");
    return new AuditFile(fs, path, options);
  }

  /** The group may read on purpose, for a program that ships logs, so permissions stay as they are. */
  #checkAccess(): void {
    const stats = this.fs.fstatSync(this.#descriptor);
    // On Windows Node reports neither owner nor mode.
    if (process.getuid === undefined || !stats.isFile() || (stats.mode & EVERYONE) === 0) return;
    this.options.warn(
      `Every user of this machine can access the audit log ${this.path}. To change that: chmod o-rwx ${this.path}`,
    );
  }

  /** The last complete line, and whether an incomplete one of a process that was killed follows it. */
  lastLine(): { readonly text: string | undefined; readonly isCut: boolean } {
    const { size } = this.fs.fstatSync(this.#descriptor);
    const tail = Buffer.alloc(Math.min(size, TAIL_BYTES));
    const reader = this.fs.openSync(this.path, "r");
    try {
      this.fs.readSync(reader, tail, 0, tail.length, size - tail.length);
    } finally {
      this.fs.closeSync(reader);
    }
    const lines = tail.toString("utf8").split("\n");
    const isCut = lines.pop() !== "";
    return { text: lines.pop(), isCut };
  }

  /** Lines that wait take up all the memory they may. */
  get #isFull(): boolean {
    return this.#waitingBytes + (this.#batch?.length ?? 0) >= this.options.maxBufferBytes;
  }

  /** The last write failed, and no more lines can be kept. */
  get isStuck(): boolean {
    return this.#isFailing && this.#isFull;
  }

  /**
   * Resolves when there is space for the lines of one more request; undefined if there is. A disk that fails is not waited for.
   * Rejects on abort, and when the file is closed.
   */
  space(signal: AbortSignal | undefined): Promise<void> | undefined {
    return this.#isFull && !this.#isFailing ? this.#waitForSpace(signal) : undefined;
  }

  async #waitForSpace(signal: AbortSignal | undefined): Promise<void> {
    while (this.#isFull && !this.#isFailing && !this.#isClosed) await this.#waiters.wait(signal);
    signal?.throwIfAborted();
    if (this.#isClosed) throw new Error("The audit log is closed");
  }

  append(line: string): void {
    if (this.#waiting.length === 0) this.#waitingSince = performance.now();
    this.#waiting.push(line);
    // Three bytes are the most that a UTF-16 unit needs; an estimate is enough for a limit.
    this.#waitingBytes += line.length;
    if (this.options.batchMs === 0 && !this.#isFailing && this.#flushing === undefined) this.#writeNow();
    else this.#schedule(this.options.batchMs);
  }

  /** Writes everything that waits. Rejects if it cannot be written. */
  async flush(): Promise<void> {
    await this.#writeBatch();
    if (this.#waiting.length > 0) await this.flush();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#waiters.wake();
    clearTimeout(this.#syncTimer);
    try {
      await this.flush();
      this.fs.fsyncSync(this.#descriptor);
    } finally {
      clearTimeout(this.#timer);
      this.fs.closeSync(this.#descriptor);
    }
  }

  #schedule(delayMs: number): void {
    if (this.#timer !== undefined || this.#flushing !== undefined) return;
    this.#timer = setTimeout(() => {
      // Lines that came in the meantime wait for the next batch: a write costs more than a line.
      this.#writeBatch().then(
        // Time spent on the last write counts: no line waits longer than `batchMs` because of it.
        () =>
          this.#waiting.length > 0 &&
          this.#schedule(this.#waitingSince + this.options.batchMs - performance.now()),
        () => this.#schedule(RETRY_MS),
      );
    }, timerMs(delayMs));
  }

  #takeBatch(): Buffer | undefined {
    if (this.#batch === undefined && this.#waiting.length > 0) {
      this.#batch = Buffer.from(this.#waiting.length === 1 ? this.#waiting[0]! : this.#waiting.join(""));
      this.#written = 0;
      this.#waiting = [];
      this.#waitingBytes = 0;
    }
    return this.#batch;
  }

  #writeNow(): void {
    try {
      this.#followRename();
      for (let batch = this.#takeBatch(); batch !== undefined; batch = this.#takeBatch()) {
        this.#advance(this.fs.writeSync(this.#descriptor, batch, this.#written), batch);
      }
      this.#succeeded();
    } catch (error) {
      this.#failed(error);
      this.#schedule(RETRY_MS);
    }
  }

  /** Writes one batch, or waits for the one that is being written. */
  #writeBatch(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#flushing ??= this.#write().finally(() => {
      this.#flushing = undefined;
    });
    return this.#flushing;
  }

  async #write(): Promise<void> {
    try {
      this.#followRename();
      const batch = this.#takeBatch();
      while (batch !== undefined && this.#batch === batch) {
        const length = batch.length - this.#written;
        const count = await new Promise<number>((resolve, reject) => {
          this.fs.write(this.#descriptor, batch, this.#written, length, null, (error, done) =>
            error ? reject(error) : resolve(done),
          );
        });
        this.#advance(count, batch);
      }
      this.#succeeded();
    } catch (error) {
      this.#failed(error);
      throw error;
    }
  }

  /** A write may end early, for instance on a full disk. The rest follows, so lines stay whole. */
  #advance(count: number, batch: Buffer): void {
    this.#written += count;
    if (this.#written >= batch.length) this.#batch = undefined;
  }

  #succeeded(): void {
    this.#isFailing = false;
    this.options.onDrained();
    this.#waiters.wake();
    if (this.#isClosed || this.#syncTimer !== undefined || !Number.isFinite(this.options.fsyncMs)) return;
    this.#syncTimer = setTimeout(() => {
      this.#syncTimer = undefined;
      this.fs.fsync(this.#descriptor, (error) => error && !this.#isClosed && this.#failed(error));
    }, timerMs(this.options.fsyncMs));
    this.#syncTimer.unref();
  }

  #failed(cause: unknown): void {
    if (!this.#isFailing)
      this.options.warn(`The audit log ${this.path} cannot be written; lines wait in memory`, cause);
    this.#isFailing = true;
    this.#waiters.wake();
  }

  /** A batch that has begun is finished in the old file. */
  #followRename(): void {
    const now = performance.now();
    if ((this.#batch !== undefined && this.#written > 0) || now - this.#checkedAt < CHECK_MS) return;
    this.#checkedAt = now;
    const current = this.fs.fstatSync(this.#descriptor);
    const named = this.fs.statSync(this.path, { throwIfNoEntry: false });
    if (named?.ino === current.ino && named.dev === current.dev) return;
    const renamed = this.#descriptor;
    this.#descriptor = openForAppend(this.fs, this.path);
    this.fs.closeSync(renamed);
  }
}

function openForAppend(fs: typeof FileSystem, path: string): number {
  try {
    return fs.openSync(path, "a", 0o600);
  } catch (cause) {
    const { code } = cause as { code?: string };
    throw new ConfigError({
      code: "UNREADABLE_CONFIG",
      what: `The audit log ${path} cannot be opened${code === undefined ? "" : ` (${code})`}`,
      next: "Check that the folder exists and can be written",
      cause,
    });
  }
}
