/** One request that waits for its answer: its clock, its progress, its abort. */
import type { ProgressReport } from "../config/server-entry.js";
import { ToolCallError } from "../errors/tool-call-error.js";
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
}

interface Init {
  id: string;
  server: string;
  method: string;
  limits: RequestLimits;
  /** Tells when the time is up. */
  clock: DeadlineClock;
  /** A sign of life that the request does not see itself: the server waits for us (`performance.now()`). */
  lastSignAt?: (() => number) | undefined;
  /** Takes secrets out of what the server says. */
  redact?: ((text: string) => string) | undefined;
  /** Called when the caller gives up: by abort or by time. */
  onCancel: (why: string) => void;
}

/** As many reports of progress as come are passed on; of more than that only a hundred a second, whatever is sent. */
const FREE_REPORTS = 1_000;
const REPORT_EVERY_MS = 10;

/** JSON-RPC codes that may be different the next time: only an internal error of the server's. */
const isTransient = (code: number | undefined): boolean => code === -32603;

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
  slot = -1;
  readonly id: string;
  readonly #init: Init;
  readonly #startedAt = performance.now();
  #lastSign = this.#startedAt;
  #reports = 0;
  #reportedAt = 0;
  #stream: AbortController | undefined;
  #resolve!: (value: unknown) => void;
  #reject!: (error: unknown) => void;
  #stopListening: (() => void) | undefined;

  constructor(init: Init) {
    this.id = init.id;
    this.#init = init;
    this.promise = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    init.clock.add(this);
    const { signal } = init.limits;
    if (signal !== undefined) {
      this.#stopListening = onSharedAbort(signal, () => {
        init.onCancel("The caller aborted the request");
        this.reject(signal.reason);
      });
    }
  }

  get quiet(): boolean {
    return this.#init.limits.quiet === true;
  }

  get wantsProgress(): boolean {
    return this.#init.limits.onProgress !== undefined;
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
    this.#reject(error);
  }

  /** The server answered with a JSON-RPC error, or with what it takes for one. */
  refuse(error: unknown): void {
    const { code, message, data } = readRpcError(error);
    this.reject(
      new ToolCallError({
        code: "PROTOCOL",
        server: this.#init.server,
        what: `The server answered ${this.#init.method} with error ${code ?? "of no code"}: ${this.#quote(message)}`,
        retryable: isTransient(code),
        rpcCode: code,
        data,
      }),
    );
  }

  /** It is a foreign text: of any length, and perhaps with what the server was given to keep. */
  #quote(message: string): string {
    return redactText(this.#init.redact?.(message) ?? message).replace(/[.\s]+$/, "");
  }

  progress(params: Record<string, unknown>): void {
    const now = performance.now();
    this.#lastSign = now;
    const { progress, total, message } = params as { progress?: unknown; total?: unknown; message?: unknown };
    if (typeof progress !== "number") return;
    this.#reports += 1;
    if (this.#reports > FREE_REPORTS && now - this.#reportedAt < REPORT_EVERY_MS) return;
    this.#reportedAt = now;
    this.#init.limits.onProgress?.({
      progress,
      ...(typeof total === "number" && { total }),
      ...(typeof message === "string" && { message }),
    });
  }

  /** Progress only moves the mark that the clock looks at. */
  leftMs(): number {
    const { timeoutMs, maxTimeoutMs } = this.#init.limits;
    const lastSign = Math.max(this.#lastSign, this.#init.lastSignAt?.() ?? 0);
    return Math.min(lastSign + timeoutMs, this.#startedAt + maxTimeoutMs) - performance.now();
  }

  expire(): void {
    const { server, method, onCancel, limits } = this.#init;
    const total = performance.now() - this.#startedAt >= limits.maxTimeoutMs;
    onCancel("The request timed out");
    this.reject(
      new ToolCallError({
        code: "TIMEOUT",
        server,
        what: `${method} was not answered within ${Math.round(total ? limits.maxTimeoutMs : limits.timeoutMs)} ms`,
        next: total
          ? "Raise maxTimeoutMs if the work takes longer"
          : "Raise timeoutMs, or let the server report progress",
        retryable: true,
        phase: method,
      }),
    );
  }

  #finish(): void {
    this.#init.clock.delete(this);
    this.#stopListening?.();
  }
}
