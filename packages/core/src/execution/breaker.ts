/** Circuit breaker: after several failures in a row, calls to a server fail at once for a while. */
import { AuthError, ConnectionError, ToolCallError, ToolportError } from "@toolport/base";
import type { ToolResult } from "./tool-result.js";

/** When calls to a failing server are rejected without being sent; `false`: never. */
export type BreakerOptions =
  | false
  | {
      /**
       * Failures in a row that open the breaker. A failure is a lost connection (once, however many calls it interrupts), a
       * failed attempt to connect, or an unanswered ping. A request that times out counts only if the server does not answer
       * the ping that follows. @default 5
       */
      failures?: number;
      /** How long it stays open. The n-th time in a row it stays open n times as long. @default 30000 */
      openMs?: number;
      /** Longest time it stays open. @default 300000 */
      maxOpenMs?: number;
    };

/** State of a circuit breaker as plain data. */
export interface BreakerSnapshot {
  /** `closed`: calls pass; `open`: calls fail at once; `half-open`: one call probes the server. */
  state: "closed" | "open" | "half-open";
  /** Failures in a row. */
  failures: number;
  /** When the next call may probe the server (epoch milliseconds); null while the breaker is closed. */
  openUntil: number | null;
  /** How many times in a row it opened. */
  opens: number;
}

/** What a call shows about its server. `nothing`: the call did not reach the server, or the caller aborted. */
export type BreakerVerdict = "answered" | "failed" | "nothing";

/** Identifies a call that was let through: the number of failures counted before it, or `probe` for the call that probes the server. */
export type BreakerPass = number | "probe";

type State =
  | { readonly name: "closed" }
  | { readonly name: "open"; readonly until: number; readonly untilEpoch: number }
  | { readonly name: "half-open"; readonly since: Extract<State, { name: "open" }> };

const CLOSED: State = { name: "closed" };

/** The circuit breaker of one server. */
export class Breaker {
  readonly #server: string;
  readonly #limits: { failures: number; openMs: number; maxOpenMs: number };
  readonly #now: () => number;
  #state: State = CLOSED;
  #failures = 0;
  /** Failures ever counted. Never reset, so that a pass shows which failures came before it. */
  #counted = 0;
  #opens = 0;
  #lastError: ToolportError | undefined;

  constructor(
    server: string,
    { failures = 5, openMs = 30_000, maxOpenMs = 300_000 }: Exclude<BreakerOptions, false> = {},
    now: () => number = () => performance.now(),
  ) {
    this.#server = server;
    this.#limits = { failures, openMs, maxOpenMs };
    this.#now = now;
  }

  get snapshot(): BreakerSnapshot {
    const state = this.#state;
    const open = state.name === "half-open" ? state.since : state;
    return {
      state: state.name,
      failures: this.#failures,
      openUntil: open.name === "open" ? open.untilEpoch : null,
      opens: this.#opens,
    };
  }

  /** True while a call would fail at once. */
  get isOpen(): boolean {
    return this.#state.name === "half-open" || (this.#state.name === "open" && this.#leftMs() > 0);
  }

  /** Lets a call through, or throws `CIRCUIT_OPEN`. The caller must `settle` a call that is let through. */
  enter(tool?: string): BreakerPass {
    if (this.#state.name === "closed") return this.#counted;
    if (this.isOpen) throw this.#circuitOpenError(tool);
    this.#state = { name: "half-open", since: this.#state as Extract<State, { name: "open" }> };
    return "probe";
  }

  settle(pass: BreakerPass, verdict: BreakerVerdict, error?: ToolportError): void {
    if (verdict === "answered") return this.reset();
    const known = this.#lastError?.code;
    if (verdict === "failed") this.#lastError = error;
    if (this.#state.name === "half-open" && pass === "probe") {
      if (verdict === "failed") this.#open();
      else this.#state = this.#state.since;
      return;
    }
    // Calls that were under way when the breaker opened do not count again.
    if (this.#state.name !== "closed" || verdict !== "failed") return;
    // All calls interrupted by one lost connection count as one failure.
    if (error?.code === "CLOSED" && known === "CLOSED" && pass !== "probe" && pass < this.#counted) return;
    this.#count();
  }

  /** The server did not answer a ping, so the calls that timed out count as a failure. */
  silent(error: ToolportError): void {
    this.#lastError = error;
    if (this.#state.name === "closed") this.#count();
    else if (this.#leftMs() === 0) this.#open();
  }

  /** The server is reachable again: the next call may probe it before the time is up. */
  allowProbe(): void {
    if (this.#state.name === "open") this.#state = { ...this.#state, until: this.#now() };
  }

  /** Closes the breaker. */
  reset(): void {
    this.#state = CLOSED;
    this.#failures = 0;
    this.#opens = 0;
    this.#lastError = undefined;
  }

  #count(): void {
    this.#failures++;
    this.#counted++;
    if (this.#failures >= this.#limits.failures) this.#open();
  }

  #open(): void {
    this.#opens++;
    const { openMs, maxOpenMs } = this.#limits;
    const ms = Math.min(openMs * this.#opens, maxOpenMs);
    this.#state = { name: "open", until: this.#now() + ms, untilEpoch: Date.now() + ms };
  }

  /** How long the breaker stays open; 0: a call may probe the server, or is doing so. */
  #leftMs(): number {
    return this.#state.name === "open" ? Math.max(0, Math.ceil(this.#state.until - this.#now())) : 0;
  }

  #circuitOpenError(tool: string | undefined): ConnectionError {
    const left = this.#leftMs();
    const last = this.#lastError === undefined ? "" : `; last: ${this.#lastError.what}`;
    return new ConnectionError({
      code: "CIRCUIT_OPEN",
      server: this.#server,
      tool,
      what: `The server failed too often in a row; calls are rejected for a while${last}`,
      next:
        left > 0
          ? `Try again in ${Math.ceil(left / 1_000)} s`
          : "Another call is probing the server now; try again after it",
      retryable: true,
      outcome: "unsent",
      retryAfterMs: left,
      cause: this.#lastError,
    });
  }
}

/** Failures before the request reached the server, or unrelated to its health. */
const UNRELATED: readonly string[] = [
  "ABORTED",
  "INVALID_ARGUMENTS",
  "REFUSED",
  "OVERLOADED",
  "CIRCUIT_OPEN",
  "ADDRESS_REFUSED",
];

/** The server answered, with a result that was rejected. */
const ANSWERED: readonly string[] = ["INVALID_OUTPUT", "UNSUPPORTED_CONTENT", "MESSAGE_TOO_LARGE"];

const isClientError = (status: number | undefined): boolean =>
  status !== undefined && status >= 400 && status < 500;

function judgeCall({ code, phase, rpcCode, outcome }: ToolCallError): BreakerVerdict {
  // One tool may just be slow. The ping that follows a timeout shows whether the server is alive (see `silent`).
  if (code === "TIMEOUT") return phase === "connect" ? "failed" : "nothing";
  const wasAnswered = code === "PROTOCOL" && (rpcCode !== undefined || outcome === "unknown");
  return wasAnswered ? "answered" : "nothing";
}

/** What a failed call shows about its server. */
export function judge(error: ToolportError): BreakerVerdict {
  if (UNRELATED.includes(error.code)) return "nothing";
  if (ANSWERED.includes(error.code)) return "answered";
  if (error instanceof ConnectionError) return isClientError(error.status) ? "answered" : "failed";
  if (error instanceof AuthError) return isClientError(error.status) ? "answered" : "nothing";
  return error instanceof ToolCallError ? judgeCall(error) : "nothing";
}

/** The part of a call that the breaker reads. */
interface GuardedCall {
  readonly tool: { readonly sourceName: string };
  readonly options: { readonly signal?: AbortSignal };
  readonly target: { readonly breaker: Breaker | undefined };
}

/** Rejects calls while the breaker of their server is open, and reports the outcome of the others to it. */
export function breakerStep<Call extends GuardedCall, Answer = ToolResult>(
  next: (call: Call) => Promise<Answer>,
): (call: Call) => Promise<Answer> {
  return async (call) => {
    const { breaker } = call.target;
    if (breaker === undefined) return next(call);
    const pass = breaker.enter(call.tool.sourceName);
    try {
      const answer = await next(call);
      breaker.reset();
      return answer;
    } catch (error) {
      const isOurs = ToolportError.isInstance(error) && !call.options.signal?.aborted;
      breaker.settle(pass, isOurs ? judge(error) : "nothing", isOurs ? error : undefined);
      throw error;
    }
  };
}
