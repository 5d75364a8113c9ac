/** Leaves a server that keeps failing alone for a while, so that its callers learn at once what they would learn late. */
import { AuthError } from "../errors/auth-error.js";
import { ConnectionError } from "../errors/connection-error.js";
import { ToolCallError } from "../errors/tool-call-error.js";
import { ToolportError } from "../errors/toolport-error.js";
import type { CallInterceptor } from "./tool-call.js";

/** When a server that keeps failing is left alone; `false`: never. */
export type BreakerOptions =
  | false
  | {
      /**
       * Failures in a row that open the breaker: connection lost (once, however many calls it took along) or not made, a
       * ping not answered. A request that times out counts only if the ping that follows is not answered. @default 5
       */
      failures?: number;
      /** How long it stays open: the n-th time in a row n times as long. @default 30000 */
      openMs?: number;
      /** Longest time it stays open. @default 300000 */
      maxOpenMs?: number;
    };

/** Where a breaker stands, as plain data. */
export interface BreakerSnapshot {
  /** `closed`: calls pass; `open`: they fail at once; `half-open`: one call is trying out the server. */
  state: "closed" | "open" | "half-open";
  /** Failures in a row. */
  failures: number;
  /** When the next call may try it out (epoch milliseconds), while it is not closed. */
  openUntil: number | null;
  /** How often in a row it opened. */
  opens: number;
}

/** What a call showed about its server. `nothing`: it never got that far, or the caller gave up. */
export type BreakerVerdict = "answered" | "failed" | "nothing";

/** A call that was let through, by the failures counted before it; `probe` is the one that tries out a server. */
export type BreakerPass = number | "probe";

type State =
  | { readonly name: "closed" }
  | { readonly name: "open"; readonly until: number; readonly untilEpoch: number }
  | { readonly name: "half-open"; readonly since: Extract<State, { name: "open" }> };

const CLOSED: State = { name: "closed" };

/** One server's breaker. */
export class Breaker {
  readonly #server: string;
  readonly #limits: { failures: number; openMs: number; maxOpenMs: number };
  readonly #now: () => number;
  #state: State = CLOSED;
  #failures = 0;
  /** Never goes back, so that it tells what came before what. */
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

  /** Lets a call through, or throws `CIRCUIT_OPEN`. Whoever is let through must `settle`. */
  enter(tool?: string): BreakerPass {
    if (this.#state.name === "closed") return this.#counted;
    if (this.isOpen) throw this.#refusal(tool);
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
    // Calls that were under way when it opened say nothing new.
    if (this.#state.name !== "closed" || verdict !== "failed") return;
    // Nor do calls that went down with one connection: however many they are, it failed once.
    if (error?.code === "CLOSED" && known === "CLOSED" && pass !== "probe" && pass < this.#counted) return;
    this.#count();
  }

  /** The server answered no ping: what the calls that timed out could not tell. */
  silent(error: ToolportError): void {
    this.#lastError = error;
    if (this.#state.name === "closed") this.#count();
    else if (this.#leftMs() === 0) this.#open();
  }

  /** The server can be reached again: the next call may try it out, however long it was to be left alone. */
  allowProbe(): void {
    if (this.#state.name === "open") this.#state = { ...this.#state, until: this.#now() };
  }

  /** Closes it: the server answered, or somebody knows that it is back. */
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

  /** How long it stays open; 0: a call may try the server out, or does. */
  #leftMs(): number {
    return this.#state.name === "open" ? Math.max(0, Math.ceil(this.#state.until - this.#now())) : 0;
  }

  #refusal(tool: string | undefined): ConnectionError {
    const left = this.#leftMs();
    const last = this.#lastError === undefined ? "" : `; last: ${this.#lastError.what}`;
    return new ConnectionError({
      code: "CIRCUIT_OPEN",
      server: this.#server,
      tool,
      what: `The server failed too often in a row and is left alone${last}`,
      next: left > 0 ? `Try again in ${Math.ceil(left / 1_000)} s` : "Another call is just trying it out",
      retryable: true,
      outcome: "unsent",
      retryAfterMs: left,
      cause: this.#lastError,
    });
  }
}

/** Codes of failures that never reached the server or say nothing about it. */
const OUR_OWN: readonly string[] = [
  "ABORTED",
  "INVALID_ARGUMENTS",
  "REFUSED",
  "OVERLOADED",
  "CIRCUIT_OPEN",
  "ADDRESS_REFUSED",
];

/** The server answered, if with something that we do not want. */
const ANSWERED: readonly string[] = ["INVALID_OUTPUT", "UNSUPPORTED_CONTENT", "MESSAGE_TOO_LARGE"];

const isClientError = (status: number | undefined): boolean =>
  status !== undefined && status >= 400 && status < 500;

function judgeCall({ code, phase, rpcCode, outcome }: ToolCallError): BreakerVerdict {
  // A timeout of a request may be one slow tool; the ping that follows shows whether it is the server (`silent`).
  if (code === "TIMEOUT") return phase === "connect" ? "failed" : "nothing";
  const wasAnswered = code === "PROTOCOL" && (rpcCode !== undefined || outcome === "unknown");
  return wasAnswered ? "answered" : "nothing";
}

/** What a failed call shows about its server. */
export function judge(error: ToolportError): BreakerVerdict {
  if (OUR_OWN.includes(error.code)) return "nothing";
  if (ANSWERED.includes(error.code)) return "answered";
  if (error instanceof ConnectionError) return isClientError(error.status) ? "answered" : "failed";
  if (error instanceof AuthError) return isClientError(error.status) ? "answered" : "nothing";
  return error instanceof ToolCallError ? judgeCall(error) : "nothing";
}

/** Counts the failures of every server and fails at once where there were too many. */
export function breakerStep(breakerFor: (server: string) => Breaker): CallInterceptor {
  // Without `async`: on the way of every call, a promise of one's own costs more than what is done here.
  return (next) => (call) => {
    const breaker = breakerFor(call.tool.server);
    let pass: BreakerPass;
    try {
      pass = breaker.enter(call.tool.sourceName);
    } catch (refusal) {
      return Promise.reject(refusal);
    }
    return next(call).then(
      (result) => {
        breaker.settle(pass, "answered");
        return result;
      },
      (error: unknown) => {
        const isOurs = ToolportError.isInstance(error) && !call.options.signal?.aborted;
        breaker.settle(pass, isOurs ? judge(error) : "nothing", isOurs ? error : undefined);
        throw error;
      },
    );
  };
}
