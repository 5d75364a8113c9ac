/** A log of the last calls, with everything needed to replay one. */
import type { CallNews } from "../execution/listeners.js";
import { redactText } from "../util/redact-text.js";
import type { CallSummary, CallView } from "./console-api.js";
import { ConsoleRun } from "./console-runs.js";
import { redactJson } from "./redact-json.js";
import { weigh } from "./weigh.js";

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
  /** Arguments and result were discarded to save memory. */
  isDiscarded: boolean;
  weight: number;
}

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
      const call = {
        start: news,
        startedAt: Date.now(),
        isDiscarded: false,
        weight: weigh(news.message) + weigh(news.given),
      };
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

  /** The call that a page started with this run. */
  ofRun(run: ConsoleRun): CallSummary | undefined {
    const call = [...this.#calls.values()].findLast(({ start }) => start.context === run);
    return call && this.#summary(call);
  }

  /** Newest first. */
  list(): CallSummary[] {
    return [...this.#calls.values()].reverse().map((call) => this.#summary(call));
  }

  view(id: number): CallView | undefined {
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

  #summary(call: LoggedCall): CallSummary {
    const { start, startedAt, end } = call;
    return {
      id: start.id,
      kind: start.kind,
      server: start.server,
      target: start.name ?? start.uri ?? "",
      principal: start.principal ?? null,
      startedAt,
      outcome: end?.outcome ?? "running",
      durationMs: end?.durationMs ?? null,
      attempts: end?.attempts ?? null,
      answeredBy: end !== undefined && end.server !== start.server ? end.server : null,
      person: end?.answeredBy ?? start.answeredBy ?? null,
      error: end?.error === undefined ? null : redactText(errorText(end.error)),
      canReplay: this.#canReplay(call),
      ...runOf(start.context),
    };
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

function runOf(context: unknown): Pick<CallSummary, "run" | "progress"> {
  if (!(context instanceof ConsoleRun)) return { run: null, progress: null };
  const { id, progress } = context;
  if (progress === undefined) return { run: id, progress: null };
  const { total = null, message = null } = progress;
  return {
    run: id,
    progress: { progress: progress.progress, total, message: message && redactText(message) },
  };
}

const errorText = (error: unknown): string => (error instanceof Error ? error.message : String(error));
