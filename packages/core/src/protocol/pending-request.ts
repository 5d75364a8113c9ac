/** An open request (timeouts, progress, abort) and the table that finds open requests by id. */

import {
  afterNextPoll,
  onSharedAbort,
  redactText,
  SlotList,
  type Slotted,
  ToolCallError,
  timerMs,
  traitsOfRpcError,
} from "@toolport/base";
import type { ProgressReport } from "../config/server-entry.js";
import type { GiveUpReason } from "../transports/server-transport.js";

/** Progress that a server reports while it works on a request. */
export type Progress = ProgressReport;

/** Timeouts and cancellation of a request. */
export interface RequestLimits {
  /** Idle timeout: progress restarts it. `Infinity`: no limit. */
  timeoutMs: number;
  /** Total timeout, regardless of progress. `Infinity`: no limit. */
  maxTimeoutMs: number;
  signal?: AbortSignal | undefined;
  onProgress?: ((progress: Progress) => void) | undefined;
  /** Send no cancellation, which the specification forbids for handshakes, and report no silence, which would cause a ping. @default false */
  quiet?: boolean | undefined;
  /** Background work: does not keep the process alive. @default false */
  background?: boolean | undefined;
  /** Called when the response arrives, before any later message is handled. */
  onResponse?: (() => void) | undefined;
  /** The call that the request is sent for. @default these options */
  owner?: object | undefined;
}

/** Shared by all requests of one connection. */
export interface RequestContext {
  readonly server: string;
  readonly clock: DeadlineClock;
  /** Last activity of the server that the request does not see itself (`performance.now()`). */
  readonly lastActivityAt?: (() => number) | undefined;
  /** Removes secrets from text of the server. */
  redact(text: string): string;
  /** Removes secrets from a `ToolportError`. Returns any other value unchanged. */
  redactError<Value>(error: Value): Value;
  /** When the last message arrived on the connection (`performance.now()`). */
  readonly lastReceivedAt: number;
  /** Cancels the request at the server. Returns true if the request was certainly never sent. */
  cancel(id: string, why: GiveUpReason): boolean;
  /** Called when the request timed out and no message had arrived for as long as its timeout. */
  readonly onsilence?: (() => void) | undefined;
}

/** Progress is passed on without a limit up to this count, then at most once per `REPORT_EVERY_MS`. */
const UNLIMITED_REPORTS = 1_000;
const REPORT_EVERY_MS = 10;

/** Reads an untrusted JSON-RPC error object. */
function readRpcError(error: unknown): { code: number | undefined; message: string; data: unknown } {
  const { code, message, data } = (typeof error === "object" ? error : {}) as Record<string, unknown>;
  return {
    code: typeof code === "number" ? code : undefined,
    message: typeof message === "string" ? message : "no reason given",
    data,
  };
}

export class PendingRequest implements TimedRequest {
  readonly promise: Promise<unknown>;
  readonly id: string;
  readonly isBackground: boolean;
  slot = -1;
  readonly #method: string;
  readonly #limits: RequestLimits;
  readonly #context: RequestContext;
  readonly #startedAt = performance.now();
  #lastProgressAt = this.#startedAt;
  /** Added to the timeouts because the event loop was blocked. */
  #extraMs = 0;
  #reports = 0;
  #reportedAt = 0;
  #stream: AbortController | undefined;
  #resolve!: (value: unknown) => void;
  #reject!: (error: unknown) => void;
  #stopListening: (() => void) | undefined;

  constructor({
    id,
    method,
    limits,
    context,
  }: { id: string; method: string; limits: RequestLimits; context: RequestContext }) {
    this.id = id;
    this.isBackground = limits.background === true;
    this.#method = method;
    this.#limits = limits;
    this.#context = context;
    this.promise = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    context.clock.add(this);
    const { signal } = limits;
    this.#stopListening = signal && onSharedAbort(signal, () => this.#abort(signal.reason));
  }

  #abort(reason: unknown): void {
    this.#context.cancel(this.id, "abort");
    this.reject(reason);
    // The caller's own time limit: `AbortSignal.timeout()`, or the `timeout` of a framework.
    if ((reason as Error | null | undefined)?.name === "TimeoutError") this.#reportSilence();
  }

  /** A dead connection is noticed by the first request that times out on it, also one that could not be sent. */
  #reportSilence(): void {
    if (this.quiet) return;
    const now = performance.now();
    const waitedMs = Math.min(now - this.#startedAt, this.#limits.timeoutMs);
    if (now - this.#context.lastReceivedAt >= waitedMs) this.#context.onsilence?.();
  }

  /** The call that the request was sent for. */
  get owner(): object {
    return this.#limits.owner ?? this.#limits;
  }

  get quiet(): boolean {
    return this.#limits.quiet === true;
  }

  /** The abort signal of this request's own stream, for transports with a stream per request. */
  openStream(): AbortSignal {
    this.#stream ??= new AbortController();
    return this.#stream.signal;
  }

  closeStream(): void {
    this.#stream?.abort();
  }

  /** @param response as the server sent it: `error` is an object with a code and a message only if it follows JSON-RPC */
  settle({ result, error }: { result?: unknown; error?: unknown }): void {
    this.#limits.onResponse?.();
    // Some servers send `"error": null` beside a result, as JSON-RPC 1.0 did.
    if (error !== undefined && error !== null) return this.rejectWithRpcError(error);
    this.#context.clock.delete(this);
    this.#stopListening?.();
    this.#resolve(result);
  }

  reject(error: unknown): void {
    this.#context.clock.delete(this);
    this.#stopListening?.();
    this.#reject(this.#context.redactError(error));
  }

  rejectWithRpcError(error: unknown): void {
    const { code, message, data } = readRpcError(error);
    this.reject(
      new ToolCallError({
        code: "PROTOCOL",
        server: this.#context.server,
        what: `The server answered ${this.#method} with error ${code ?? "(no code)"}: ${this.#quote(message)}`,
        ...traitsOfRpcError(code),
        rpcCode: code,
        rpcMessage: this.#context.redact(message),
        data,
      }),
    );
  }

  /** The text comes from the server: it may be long and may contain secrets. */
  #quote(message: string): string {
    return redactText(this.#context.redact(message)).replace(/[.\s]+$/, "");
  }

  progress(params: Record<string, unknown>): void {
    const now = performance.now();
    this.#lastProgressAt = now;
    const { progress, total, message, _meta } = params;
    if (typeof progress !== "number") return;
    this.#reports += 1;
    if (this.#reports > UNLIMITED_REPORTS && now - this.#reportedAt < REPORT_EVERY_MS) return;
    this.#reportedAt = now;
    this.#limits.onProgress?.({
      progress,
      ...(typeof total === "number" && { total }),
      ...(typeof message === "string" && { message }),
      ...(typeof _meta === "object" && _meta !== null && { _meta: _meta as Record<string, unknown> }),
    });
  }

  dueAt(): number {
    const { timeoutMs, maxTimeoutMs } = this.#limits;
    const lastActivity = Math.max(this.#lastProgressAt, this.#context.lastActivityAt?.() ?? 0);
    return Math.min(lastActivity + timeoutMs, this.#startedAt + maxTimeoutMs) + this.#extraMs;
  }

  extend(ms: number): boolean {
    if (this.#extraMs > 0) return false;
    this.#extraMs = ms + performance.now() - this.dueAt();
    return true;
  }

  expire(): void {
    const limits = this.#limits;
    const total = performance.now() - this.#startedAt >= limits.maxTimeoutMs;
    const limitMs = Math.round(total ? limits.maxTimeoutMs : limits.timeoutMs);
    const isUnsent = this.#context.cancel(this.id, "timeout");
    this.reject(this.#timedOut(limitMs, total, isUnsent));
    this.#reportSilence();
  }

  /** @param isUnsent the request waited for a socket until the timeout */
  #timedOut(limitMs: number, total: boolean, isUnsent: boolean): ToolCallError {
    const method = this.#method;
    const { server } = this.#context;
    if (isUnsent)
      return new ToolCallError({
        code: "TIMEOUT",
        server,
        what: `${method} could not be sent within ${limitMs} ms`,
        next: "Make fewer calls at once, raise maxSockets if all sockets to the server are in use, or raise timeoutMs",
        retryable: true,
        phase: "queue",
        outcome: "unsent",
      });
    return new ToolCallError({
      code: "TIMEOUT",
      server,
      what: `${method} was not answered within ${limitMs} ms`,
      next: total
        ? "Raise maxTimeoutMs if the work takes longer"
        : "Raise timeoutMs, or let the server report progress",
      retryable: true,
      phase: method,
    });
  }
}

/** A power of two: members with distinct slots keep distinct slots when the table doubles. */
const MIN_SLOTS = 64;
/** An empty table with more slots than this shrinks. */
const MAX_SLOTS_KEPT = 4_096;

/**
 * Open requests in an array, indexed by the number in their id.
 *
 * Replaces a `Map`, which leaks under high churn: it reallocates its backing store every few dozen changes, each old store
 * keeps the next one alive, and entries survive until a full garbage collection.
 */
export class IdTable<Member extends { readonly id: string }> {
  readonly #prefix: string;
  #members: (Member | undefined)[] = emptySlots(MIN_SLOTS);
  #lastNumber = 0;
  #size = 0;

  /** @param prefix start of all ids */
  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  get size(): number {
    return this.#size;
  }

  /** A new id. The next `put()` must store the member with this id. */
  nextId(): string {
    if (this.#size * 2 >= this.#members.length) this.#grow();
    // Skip numbers whose slot is taken by a long-running member.
    do this.#lastNumber += 1;
    while (this.#members[this.#lastNumber & (this.#members.length - 1)] !== undefined);
    return this.#prefix + this.#lastNumber;
  }

  put(member: Member): void {
    this.#members[this.#lastNumber & (this.#members.length - 1)] = member;
    this.#size += 1;
  }

  get(id: string): Member | undefined {
    const member = this.#members[this.#slotOf(id)];
    return member?.id === id ? member : undefined;
  }

  /** Removes and returns the member; undefined if there is none with this id. */
  take(id: string): Member | undefined {
    const slot = this.#slotOf(id);
    const member = this.#members[slot];
    if (member?.id !== id) return undefined;
    this.#members[slot] = undefined;
    this.#size -= 1;
    if (this.#size === 0 && this.#members.length > MAX_SLOTS_KEPT) this.#members = emptySlots(MIN_SLOTS);
    return member;
  }

  toArray(): Member[] {
    return this.#members.filter((member) => member !== undefined);
  }

  /** An unknown id leads to an arbitrary slot; callers compare the id of the member found there. */
  #slotOf(id: string): number {
    return Number(id.slice(this.#prefix.length)) & (this.#members.length - 1);
  }

  #grow(): void {
    const members = this.toArray();
    this.#members = emptySlots(this.#members.length * 2);
    for (const member of members) this.#members[this.#slotOf(member.id)] = member;
  }
}

const emptySlots = (count: number): undefined[] => new Array(count).fill(undefined);

export interface TimedRequest extends Slotted {
  /** Background requests do not keep the process alive. */
  readonly isBackground: boolean;
  /** The deadline (`performance.now()`). `Infinity`: none. */
  dueAt(): number;
  /** Extends the deadline, at most once; false if it was extended before. */
  extend(ms: number): boolean;
  /** Called after the deadline; the clock no longer holds the request. */
  expire(): void;
}

/** A timer that fires later than this shows that the event loop was blocked. */
const LATE_MS = 20;
/** Longest extension of a deadline because the event loop was blocked. */
const MAX_EXTENSION_MS = 1_000;

/**
 * One timer for the deadlines of all requests of a connection.
 *
 * Nearly every request gets its response long before its deadline, so a timer per request would only be set and cleared.
 * The shared timer is set to the earliest deadline; when it fires, the clock checks which requests have expired. The timer
 * keeps the process alive while a foreground request is open, and only then.
 */
export class DeadlineClock {
  readonly #requests = new SlotList<TimedRequest>();
  #foregroundCount = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** When the timer fires (`performance.now()`). */
  #due = Number.POSITIVE_INFINITY;
  #keepsAlive = false;
  /** How late the timer fired. */
  #lateMs = 0;
  #cancelCheck: (() => void) | undefined;

  /** Whether the timer keeps the process alive. */
  get keepsAlive(): boolean {
    return this.#keepsAlive;
  }

  /** A request whose deadline has passed expires by the timer as well, never synchronously. */
  add(request: TimedRequest): void {
    this.#requests.add(request);
    if (!request.isBackground) this.#foregroundCount += 1;
    const due = request.dueAt();
    if (this.#timer === undefined || due < this.#due) this.#arm(due);
    else if (!this.#keepsAlive && this.#foregroundCount > 0) this.#setKeepAlive(true);
  }

  delete(request: TimedRequest): void {
    if (!this.#requests.delete(request) || request.isBackground) return;
    this.#foregroundCount -= 1;
    if (this.#foregroundCount === 0 && this.#keepsAlive) this.#setKeepAlive(false);
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#cancelCheck?.();
    this.#timer = undefined;
    this.#due = Number.POSITIVE_INFINITY;
    this.#requests.clear();
    this.#foregroundCount = 0;
    this.#keepsAlive = false;
  }

  #arm(due: number): void {
    clearTimeout(this.#timer);
    this.#due = due;
    // A deadline beyond the range of timers is checked again when the longest possible timer fires.
    this.#timer = setTimeout(this.#onTimer, timerMs(due - performance.now()));
    this.#keepsAlive = true;
    if (this.#foregroundCount === 0) this.#setKeepAlive(false);
  }

  readonly #onTimer = (): void => {
    this.#lateMs = performance.now() - this.#due;
    this.#timer = undefined;
    this.#due = Number.POSITIVE_INFINITY;
    this.#cancelCheck?.();
    this.#cancelCheck = afterNextPoll(this.#checkDeadlines);
  };

  readonly #checkDeadlines = (): void => {
    this.#cancelCheck = undefined;
    const expired: TimedRequest[] = [];
    const now = performance.now();
    let next = Number.POSITIVE_INFINITY;
    for (const request of this.#requests.toArray()) {
      if (request.dueAt() <= now && !this.#extendAfterBlock(request)) expired.push(request);
      else next = Math.min(next, request.dueAt());
    }
    for (const request of expired) {
      this.#requests.delete(request);
      if (!request.isBackground) this.#foregroundCount -= 1;
    }
    if (this.#requests.size > 0) this.#arm(next);
    else this.#keepsAlive = false;
    for (const request of expired) request.expire();
  };

  /**
   * The server is not to blame for time in which our event loop was blocked: its response may wait unread, and the request
   * may have just been written. So the request gets that time again, once and within limits.
   */
  #extendAfterBlock(request: TimedRequest): boolean {
    return this.#lateMs > LATE_MS && request.extend(Math.min(this.#lateMs, MAX_EXTENSION_MS));
  }

  /** Outside Node a timer is a number and keeps no process alive. */
  #setKeepAlive(on: boolean): void {
    this.#keepsAlive = on;
    if (typeof this.#timer !== "object") return;
    if (on) this.#timer.ref();
    else this.#timer.unref();
  }
}
