/** One request that waits for its answer: its clock, its progress, its abort. */
import type { ProgressReport } from "../config/server-entry.js";
import { traitsOfRpcError } from "../errors/from-rpc-error.js";
import { ToolCallError } from "../errors/tool-call-error.js";
import type { GiveUpReason } from "../transports/server-transport.js";
import { redactText } from "../util/redact-text.js";
import { onSharedAbort } from "../util/shared-abort.js";
import type { Clocked, DeadlineClock } from "./deadline-clock.js";

/** What a server reports while it works. */
export type Progress = ProgressReport;

/** How long a request may take and who may end it. */
export interface RequestLimits {
  /** Longest silence: an answer or progress must come within it. `Infinity`: no limit. */
  timeoutMs: number;
  /** Longest time in all, whatever progress is reported. `Infinity`: no limit. */
  maxTimeoutMs: number;
  signal?: AbortSignal | undefined;
  onProgress?: ((progress: Progress) => void) | undefined;
  /** Give up without a word to the server: a handshake may not be cancelled. @default false */
  quiet?: boolean | undefined;
  /** No caller waits for it: it does not keep the host process alive. @default false */
  background?: boolean | undefined;
}

/** What all requests of one connection share. */
export interface RequestHost {
  readonly server: string;
  /** Tells when the time is up. */
  readonly clock: DeadlineClock;
  /** A sign of life that a request does not see itself: the server waits for us (`performance.now()`). */
  lastSignAt(): number;
  /** Takes secrets out of what the server says. */
  redact(text: string): string;
  /** Takes secrets out of an error of ours. Anything else comes back as it is. */
  redactError<Value>(error: Value): Value;
  /** Messages that arrived on the connection so far. */
  received(): number;
  /** Called when the caller gives up. Returns true if it is known that the request was never sent. */
  cancel(id: string, why: GiveUpReason): boolean;
  /** A request timed out, and nothing at all arrived while it waited. */
  silent(): void;
}

interface Init {
  id: string;
  method: string;
  limits: RequestLimits;
  host: RequestHost;
}

/** As many reports of progress as come are passed on; of more than that only a hundred a second, whatever is sent. */
const FREE_REPORTS = 1_000;
const REPORT_EVERY_MS = 10;

/** Nothing in it is certain: it comes from the server. */
function readRpcError(error: unknown): { code: number | undefined; message: string; data: unknown } {
  const { code, message, data } = (typeof error === "object" ? error : {}) as Record<string, unknown>;
  return {
    code: typeof code === "number" ? code : undefined,
    message: typeof message === "string" ? message : "it does not say why",
    data,
  };
}

export class PendingRequest implements Clocked {
  readonly promise: Promise<unknown>;
  readonly id: string;
  slot = -1;
  readonly #method: string;
  readonly #limits: RequestLimits;
  readonly #host: RequestHost;
  readonly #startedAt = performance.now();
  readonly #receivedBefore: number;
  #lastSign = this.#startedAt;
  /** Added to its limits because the host was blocked. */
  #extraMs = 0;
  #reports = 0;
  #reportedAt = 0;
  #stream: AbortController | undefined;
  #resolve!: (value: unknown) => void;
  #reject!: (error: unknown) => void;
  #stopListening: (() => void) | undefined;

  constructor({ id, method, limits, host }: Init) {
    this.id = id;
    this.#method = method;
    this.#limits = limits;
    this.#host = host;
    this.promise = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.#receivedBefore = host.received();
    host.clock.add(this);
    if (limits.signal !== undefined) this.#listen(limits.signal);
  }

  #listen(signal: AbortSignal): void {
    this.#stopListening = onSharedAbort(signal, () => {
      this.#host.cancel(this.id, "abort");
      this.reject(signal.reason);
    });
  }

  get quiet(): boolean {
    return this.#limits.quiet === true;
  }

  get isBackground(): boolean {
    return this.#limits.background === true;
  }

  /** A signal for this request's own stream, for transports that have one per request. */
  openStream(): AbortSignal {
    this.#stream ??= new AbortController();
    return this.#stream.signal;
  }

  closeStream(): void {
    this.#stream?.abort();
  }

  resolve(result: unknown): void {
    this.#finish();
    this.#resolve(result);
  }

  reject(error: unknown): void {
    this.#finish();
    this.#reject(this.#host.redactError(error));
  }

  /** The server answered with a JSON-RPC error, or with what it takes for one. */
  refuse(error: unknown): void {
    const { code, message, data } = readRpcError(error);
    this.reject(
      new ToolCallError({
        code: "PROTOCOL",
        server: this.#host.server,
        what: `The server answered ${this.#method} with error ${code ?? "of no code"}: ${this.#quote(message)}`,
        ...traitsOfRpcError(code),
        rpcCode: code,
        data,
      }),
    );
  }

  /** It is a foreign text: of any length, and perhaps with what the server was given to keep. */
  #quote(message: string): string {
    return redactText(this.#host.redact(message)).replace(/[.\s]+$/, "");
  }

  progress(params: Record<string, unknown>): void {
    const now = performance.now();
    this.#lastSign = now;
    const { progress, total, message } = params as { progress?: unknown; total?: unknown; message?: unknown };
    if (typeof progress !== "number") return;
    this.#reports += 1;
    if (this.#reports > FREE_REPORTS && now - this.#reportedAt < REPORT_EVERY_MS) return;
    this.#reportedAt = now;
    this.#limits.onProgress?.({
      progress,
      ...(typeof total === "number" && { total }),
      ...(typeof message === "string" && { message }),
    });
  }

  /** Progress only moves the mark that the clock looks at. */
  dueAt(): number {
    const { timeoutMs, maxTimeoutMs } = this.#limits;
    const lastSign = Math.max(this.#lastSign, this.#host.lastSignAt());
    return Math.min(lastSign + timeoutMs, this.#startedAt + maxTimeoutMs) + this.#extraMs;
  }

  extend(ms: number): boolean {
    if (this.#extraMs > 0) return false;
    this.#extraMs = ms + performance.now() - this.dueAt();
    return true;
  }

  expire(): void {
    const method = this.#method;
    const limits = this.#limits;
    const total = performance.now() - this.#startedAt >= limits.maxTimeoutMs;
    const limitMs = Math.round(total ? limits.maxTimeoutMs : limits.timeoutMs);
    if (this.#host.cancel(this.id, "timeout")) return this.reject(this.#neverSent(limitMs));
    this.reject(
      new ToolCallError({
        code: "TIMEOUT",
        server: this.#host.server,
        what: `${method} was not answered within ${limitMs} ms`,
        next: total
          ? "Raise maxTimeoutMs if the work takes longer"
          : "Raise timeoutMs, or let the server report progress",
        retryable: true,
        phase: method,
      }),
    );
    if (!this.quiet && this.#receivedBefore === this.#host.received()) this.#host.silent();
  }

  /** It waited for a socket or a connection all the time. */
  #neverSent(limitMs: number): ToolCallError {
    return new ToolCallError({
      code: "TIMEOUT",
      server: this.#host.server,
      what: `${this.#method} could not be sent within ${limitMs} ms`,
      next: "Make fewer calls at once, raise maxSockets if all sockets to the server are in use, or raise timeoutMs",
      retryable: true,
      phase: "queue",
      outcome: "unsent",
    });
  }

  #finish(): void {
    this.#host.clock.delete(this);
    this.#stopListening?.();
  }
}

/** Something that knows its id. */
export interface Identified {
  readonly id: string;
}

/** Always a power of two, so that whoever has a place of its own still has one when there are twice as many. */
const FEWEST_PLACES = 64;
const MOST_PLACES_KEPT = 4_096;

/**
 * Members in one array, at the place that the number in their id says.
 *
 * It stands in for a `Map`, which lays itself out anew for every few dozen members that come and go. Each layout keeps the
 * next one alive, so once one has grown old, all that was ever in the map stays until the whole heap is collected.
 */
export class IdTable<Member extends Identified> {
  readonly #prefix: string;
  #members: (Member | undefined)[] = emptyPlaces(FEWEST_PLACES);
  #lastNumber = 0;
  #size = 0;

  /** @param prefix what all ids begin with */
  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  get size(): number {
    return this.#size;
  }

  /** An id that nobody had before, for whoever is put in next, before the next one is asked for. */
  nextId(): string {
    if (this.#size * 2 >= this.#members.length) this.#grow();
    // Whoever stays for long keeps the place: numbers that would lead there are left out.
    do this.#lastNumber += 1;
    while (this.#members[this.#lastNumber & (this.#members.length - 1)] !== undefined);
    return this.#prefix + this.#lastNumber;
  }

  put(member: Member): void {
    this.#members[this.#lastNumber & (this.#members.length - 1)] = member;
    this.#size += 1;
  }

  get(id: string): Member | undefined {
    const member = this.#members[this.#placeOf(id)];
    return member?.id === id ? member : undefined;
  }

  /** Takes it out; undefined if it was not in it. */
  take(id: string): Member | undefined {
    const place = this.#placeOf(id);
    const member = this.#members[place];
    if (member?.id !== id) return undefined;
    this.#members[place] = undefined;
    this.#size -= 1;
    // What a rush needed is not kept for ever.
    if (this.#size === 0 && this.#members.length > MOST_PLACES_KEPT)
      this.#members = emptyPlaces(FEWEST_PLACES);
    return member;
  }

  toArray(): Member[] {
    return this.#members.filter((member) => member !== undefined);
  }

  /** Ids that are not ours lead anywhere; there, nobody has them. */
  #placeOf(id: string): number {
    return Number(id.slice(this.#prefix.length)) & (this.#members.length - 1);
  }

  #grow(): void {
    const members = this.toArray();
    this.#members = emptyPlaces(this.#members.length * 2);
    for (const member of members) this.#members[this.#placeOf(member.id)] = member;
  }
}

const emptyPlaces = (count: number): undefined[] => new Array(count).fill(undefined);
