/** A log of the last calls, with everything needed to replay one; and the calls and programs that a page started, with what cancels them. */
import { type CallNews, type CallProgressNews, cancelCall } from "../execution/listeners.js";
import type { Progress } from "../protocol/pending-request.js";
import { redactText } from "../util/redact-text.js";
import { redactJson, weigh } from "./redact-json.js";

const MAX_CALLS = 200;
/** Maximum size of all arguments and results, in characters. The oldest are discarded first. */
const MAX_WEIGHT = 32_000_000;
const MAX_RESULT_WEIGHT = 6_000_000;

type Start = Extract<CallNews, { phase: "start" }>;
type End = Extract<CallNews, { phase: "end" }>;

interface LoggedCall {
  readonly start: Start;
  readonly startedAt: number;
  end?: Omit<End, "result"> | undefined;
  result?: unknown;
  progress?: Progress | undefined;
  /** Arguments and result were discarded to save memory. */
  isDiscarded: boolean;
  weight: number;
}

/** A call in the list. */
export type CallSummary = ReturnType<CallLog["list"]>[number];

export class CallLog {
  readonly #calls = new Map<number, LoggedCall>();
  readonly #principal: string | undefined;
  #weight = 0;

  /** @param principal the user of the console: calls of other users are listed, but cannot be replayed */
  constructor(principal: string | undefined) {
    this.#principal = principal;
  }

  /** Records an event and returns the updated summary of its call. */
  add(news: CallNews): CallSummary | undefined {
    if (news.phase === "start") {
      const weight = weigh(news.message) + weigh(news.given);
      const call = { start: news, startedAt: Date.now(), isDiscarded: false, weight };
      this.#calls.set(news.id, call);
      this.#weight += call.weight;
      this.#trim();
      return this.#summary(call);
    }
    const call = this.#calls.get(news.id);
    if (call === undefined) return undefined;
    const { result, ...end } = news;
    const weight = weigh(result);
    call.end = end;
    // A suspended call has no result yet.
    if (end.outcome !== "suspended")
      call.result = weight > MAX_RESULT_WEIGHT ? "This result is too large for the log" : result;
    const added = Math.min(weight, MAX_RESULT_WEIGHT);
    call.weight += added;
    this.#weight += added;
    this.#trim();
    return this.#summary(call);
  }

  /** Records progress and returns the updated summary of its call, if the call runs. */
  progressed({ id, progress, total, message }: CallProgressNews): CallSummary | undefined {
    const call = this.#calls.get(id);
    if (call === undefined || call.end !== undefined) return undefined;
    call.progress = { progress, ...(total !== undefined && { total }), ...(message && { message }) };
    return this.#summary(call);
  }

  /** Returns false if the call has ended or cannot be cancelled. */
  cancel(id: number): boolean {
    const call = this.#calls.get(id);
    return call !== undefined && this.#canCancel(call) && cancelCall(call.start, CANCELLED);
  }

  /** Newest first. */
  list() {
    return [...this.#calls.values()].reverse().map((call) => this.#summary(call));
  }

  view(id: number) {
    const call = this.#calls.get(id);
    if (call === undefined) return undefined;
    // A fallback server may have received different arguments.
    const { message } = call.end ?? call.start;
    const gone = "Discarded to save memory";
    return {
      ...this.#summary(call),
      args: call.isDiscarded
        ? gone
        : redactJson(call.start.kind === "tool" ? (message["arguments"] ?? {}) : message),
      result: call.isDiscarded ? gone : (redactJson(call.result) ?? null),
      tries: (call.end?.tries ?? []).map(({ server, durationMs, error }) => ({
        server,
        durationMs,
        error: error === undefined ? null : redactText(error.message),
      })),
    };
  }

  /** The original call, if it can be replayed. */
  original(id: number): Start | undefined {
    const call = this.#calls.get(id);
    return call !== undefined && this.#canReplay(call) ? call.start : undefined;
  }

  #summary(call: LoggedCall) {
    const { start, startedAt, end } = call;
    return {
      id: start.id,
      kind: start.kind,
      /** The server that was called first. */
      server: start.server,
      /** Tool, prompt or URI. */
      target: start.name ?? start.uri ?? "",
      principal: start.principal ?? null,
      startedAt,
      outcome: end?.outcome ?? ("running" as const),
      durationMs: end?.durationMs ?? null,
      attempts: end?.attempts ?? null,
      /** The server that responded, if it is a fallback. */
      answeredBy: end !== undefined && end.server !== start.server ? end.server : null,
      /** The person or program that answered or approved a suspended call. */
      person: end?.answeredBy ?? start.answeredBy ?? null,
      error: end?.error === undefined ? null : redactText(errorText(end.error)),
      canReplay: this.#canReplay(call),
      canCancel: this.#canCancel(call),
      /** Set for calls that a page started: its own id of the call. */
      run: start.context instanceof ConsoleRun ? start.context.id : null,
      progress: call.progress === undefined ? null : toProgressView(call.progress),
    };
  }

  /** Only tool calls can be cancelled. The console of the shared port cancels calls of all users. */
  #canCancel({ start, end }: LoggedCall): boolean {
    return end === undefined && start.kind === "tool";
  }

  #canReplay({ start, isDiscarded }: LoggedCall): boolean {
    const isOurs = start.principal === this.#principal;
    return isOurs && !isDiscarded && ["tool", "prompt", "resource"].includes(start.kind);
  }

  #trim(): void {
    for (const [id, call] of this.#calls) {
      if (this.#calls.size <= MAX_CALLS) break;
      this.#weight -= call.weight;
      this.#calls.delete(id);
    }
    for (const call of this.#calls.values()) {
      if (this.#weight <= MAX_WEIGHT) break;
      this.#weight -= call.weight;
      Object.assign(call, { isDiscarded: true, weight: 0, result: undefined });
    }
  }
}

export const toProgressView = ({ progress, total, message }: Progress) => ({
  progress,
  total: total ?? null,
  message: message === undefined ? null : redactText(message),
});

const errorText = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Passed as `context` of a call, so that its events can be recognized. */
export class ConsoleRun {
  readonly controller = new AbortController();
  /** @param id chosen by the page */
  constructor(readonly id: string) {}
}

/** What the caller of a cancelled call learns. */
const CANCELLED = "The user cancelled the call in the console";

export class ConsoleRuns {
  readonly #runs = new Map<string, ConsoleRun>();

  /** Runs a call. It is aborted by `cancel`, or with `signal`. */
  async run<Result>(
    id: string,
    signal: AbortSignal,
    call: (run: ConsoleRun) => Promise<Result>,
  ): Promise<Result> {
    const run = new ConsoleRun(id);
    const stop = () => run.controller.abort(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
    this.#runs.set(id, run);
    try {
      return await call(run);
    } finally {
      signal.removeEventListener("abort", stop);
      if (this.#runs.get(id) === run) this.#runs.delete(id);
    }
  }

  /** Returns false if the call has ended. */
  cancel(id: string): boolean {
    const run = this.#runs.get(id);
    run?.controller.abort(new Error(CANCELLED));
    return run !== undefined;
  }

  close(): void {
    for (const { controller } of this.#runs.values()) controller.abort(new Error("The console was closed"));
    this.#runs.clear();
  }
}
