/**
 * The logs of the console: the last calls, with everything needed to replay one; the calls and programs that a page started, with what
 * cancels them; the last messages between the port and its servers, lines of stderr, and requests to authorization servers; calls,
 * errors, latencies and states of each server in the last hour. All are kept in memory only.
 */

import { BoundedMap, type Fields, redactText } from "@toolport/base";
import type { Progress, ToolportEvents } from "@toolport/core";
import { cancelCall } from "@toolport/core/internal";
import { messageOf, redactJson, weigh } from "./redact-json.js";

/** Entries by their ids, oldest first. Beyond the limits, the oldest entries and the contents of the oldest are discarded. */
class BoundedLog<Entry extends { weight: number }> extends Map<number, Entry> {
  #weight = 0;

  /** @param maxWeight of all contents, in characters. @param discarded what an entry becomes without its contents */
  constructor(
    readonly maxEntries: number,
    readonly maxWeight: number,
    readonly discarded: Partial<Entry>,
  ) {
    super();
  }

  /** Adds an entry, or contents to one. */
  add(id: number, entry: Entry, weight: number): void {
    this.set(id, entry);
    entry.weight += weight;
    this.#weight += weight;
    for (const [oldest, { weight: freed }] of this) {
      if (this.size <= this.maxEntries) break;
      this.#weight -= freed;
      this.delete(oldest);
    }
    for (const oldest of this.values()) {
      if (this.#weight <= this.maxWeight) break;
      this.#weight -= oldest.weight;
      Object.assign(oldest, this.discarded, { weight: 0 });
    }
  }
}

const MAX_RESULT_WEIGHT = 6_000_000;

type Start = Extract<ToolportEvents["call"], { phase: "start" }>;
type End = Extract<ToolportEvents["call"], { phase: "end" }>;

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
  readonly #calls = new BoundedLog<LoggedCall>(200, 32_000_000, { isDiscarded: true, result: undefined });

  /** @param principal the user of the console: calls of other users are listed, but cannot be replayed */
  constructor(readonly principal: string | undefined) {}

  /** Records an event and returns the updated summary of its call. */
  add(news: Start | End): CallSummary | undefined {
    if (news.phase === "start") {
      const call = { start: news, startedAt: Date.now(), isDiscarded: false, weight: 0 };
      this.#calls.add(news.id, call, weigh(news.message) + weigh(news.given));
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
    this.#calls.add(news.id, call, Math.min(weight, MAX_RESULT_WEIGHT));
    return this.#summary(call);
  }

  /** Records progress and returns the updated summary of its call, if the call runs. */
  progressed({ id, progress, total, message }: ToolportEvents["progress"]): CallSummary | undefined {
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
      error: end?.error === undefined ? null : redactText(messageOf(end.error)),
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
    const isOurs = start.principal === this.principal;
    return isOurs && !isDiscarded && ["tool", "prompt", "resource"].includes(start.kind);
  }
}

export const toProgressView = ({ progress, total, message }: Progress) => ({
  progress,
  total: total ?? null,
  message: message === undefined ? null : redactText(message),
});

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

const MAX_WEIGHT_OF_ONE = 1_000_000;
/** Requests whose response is awaited: the response has no method of its own. */
const MAX_OPEN = 1_000;

/** A message, a line of stderr, or a request to an authorization server. */
export interface TrafficEntry {
  readonly id: number;
  readonly at: number;
  readonly server: string;
  readonly kind: "request" | "response" | "error" | "notification" | "stderr" | "auth";
  readonly direction: "sent" | "received";
  /** The method, the line, or what the request is for. */
  readonly label: string;
  /** Approximate size in characters. */
  readonly size: number;
  /** With a response: the time since the request. */
  readonly durationMs?: number | undefined;
}

interface Logged {
  readonly entry: TrafficEntry;
  content: unknown;
  readonly redact: (text: string) => string;
  weight: number;
}

const newTraffic = () => new BoundedLog<Logged>(2_000, 8_000_000, { content: "Discarded to save memory" });

export class TrafficLog {
  #logged = newTraffic();
  /** By server, direction and id. */
  readonly #open = new BoundedMap<string, { readonly method: string; readonly at: number }>(MAX_OPEN);
  #last = 0;

  /** @param onEntry called for every new entry */
  constructor(readonly onEntry: (entry: TrafficEntry) => void) {}

  addMessage({ server, direction, message, redact }: ToolportEvents["message"]): void {
    // One message may be a batch of several.
    for (const each of Array.isArray(message) ? message : [message])
      this.#addOne({ server, direction, redact }, (each ?? {}) as Fields);
  }

  addLine(server: string, line: string): void {
    const facts = { kind: "stderr", direction: "received", label: redactText(line.slice(0, 300)) } as const;
    this.#add({ server, ...facts }, line);
  }

  addAuthRequest({ server, principal: _, ...request }: ToolportEvents["authRequest"]): void {
    const { step, status } = request;
    const durationMs = Math.round(request.durationMs);
    const label = `${step}: ${status ?? "no response"}`;
    this.#add({ server, kind: "auth", direction: "sent", label, durationMs }, { ...request, durationMs });
  }

  /** Newest first, optionally of one server or one kind. */
  list(server?: string, kind?: string): TrafficEntry[] {
    return [...this.#logged.values()]
      .map(({ entry }) => entry)
      .filter((entry) => (server ?? entry.server) === entry.server && (kind ?? entry.kind) === entry.kind)
      .reverse();
  }

  view(id: number) {
    const logged = this.#logged.get(id);
    return logged && { ...logged.entry, content: toContent(logged) };
  }

  clear(): void {
    this.#logged = newTraffic();
    this.#open.clear();
  }

  #addOne(origin: Omit<ToolportEvents["message"], "message" | "principal">, message: Fields): void {
    const { server, direction, redact } = origin;
    const { method, id } = message;
    const isRequest = typeof method === "string" && id !== undefined;
    if (isRequest) {
      this.#open.set(`${server}\n${direction}\n${String(id)}`, { method, at: Date.now() });
      return this.#add({ server, direction, kind: "request", label: method }, message, redact);
    }
    if (typeof method === "string")
      return this.#add({ server, direction, kind: "notification", label: method }, message, redact);
    // The response travels in the opposite direction.
    const key = `${server}\n${direction === "sent" ? "received" : "sent"}\n${String(id)}`;
    const request = this.#open.get(key);
    this.#open.delete(key);
    const kind = "error" in message ? "error" : "response";
    const label = request?.method ?? "response";
    const durationMs = request && Date.now() - request.at;
    this.#add({ server, direction, kind, label, ...(request && { durationMs }) }, message, redact);
  }

  #add(
    facts: Omit<TrafficEntry, "id" | "at" | "size">,
    content: unknown,
    redact: (text: string) => string = (text) => text,
  ): void {
    const size = weigh(content);
    const isTooLarge = size > MAX_WEIGHT_OF_ONE;
    const entry = { ...facts, id: ++this.#last, at: Date.now(), size };
    const logged = { entry, content: isTooLarge ? "Too large to keep" : content, redact, weight: 0 };
    this.#logged.add(entry.id, logged, isTooLarge ? 0 : size);
    this.onEntry(entry);
  }
}

/** Redacts when a page asks for it: most messages are never looked at. */
function toContent({ content, redact }: Logged): unknown {
  const copy = redactJson(content) ?? null;
  return JSON.parse(JSON.stringify(copy), (_name, value: unknown) =>
    typeof value === "string" ? redact(value) : value,
  );
}

const MINUTE_MS = 60_000;
const MINUTES = 60;
const MAX_STATES = 100;
const MAX_SAMPLES = 200;
const MAX_SERVERS = 1_000;

interface ServerRecord {
  /** `at`: minutes since 1970. The slot is reused after an hour. */
  readonly minutes: { readonly at: number; calls: number; errors: number; totalMs: number }[];
  /** Changes of the state, oldest first. The first may be older than an hour. */
  states: { readonly at: number; readonly state: string }[];
  /** Latencies of the last responses. */
  readonly samples: number[];
}

export class ServerHistory {
  readonly #servers = new Map<string, ServerRecord>();

  /** @param now milliseconds since 1970 */
  constructor(readonly now: () => number = Date.now) {}

  /** Counts every attempt at the server that it was sent to. */
  addCall(news: ToolportEvents["call"]): void {
    if (news.phase === "start" || news.kind === "subscription") return;
    for (const { server, durationMs, error } of news.tries.length > 0 ? news.tries : [news]) {
      const record = this.#record(server);
      if (record === undefined) continue;
      if (error === undefined) record.samples.push(durationMs);
      if (record.samples.length > MAX_SAMPLES) record.samples.shift();
      if (news.outcome === "suspended") continue;
      const at = Math.floor(this.now() / MINUTE_MS);
      const slot = record.minutes[at % MINUTES];
      const minute = slot?.at === at ? slot : { at, calls: 0, errors: 0, totalMs: 0 };
      record.minutes[at % MINUTES] = minute;
      minute.calls += 1;
      minute.totalMs += durationMs;
      // A tool that reports an error counts at the attempt that returned it.
      if (error !== undefined || (news.outcome === "tool_error" && server === news.server))
        minute.errors += 1;
    }
  }

  addState(server: string, state: string): void {
    const record = this.#record(server);
    if (record === undefined) return;
    record.states.push({ at: this.now(), state });
    const start = this.now() - MINUTES * MINUTE_MS;
    // Keep the state in which the hour began.
    const first = record.states.findLastIndex(({ at }) => at <= start);
    record.states = record.states.slice(Math.max(first, 0)).slice(-MAX_STATES);
  }

  /** Latency over the last responses. */
  latency(server: string) {
    const sorted = [...(this.#servers.get(server)?.samples ?? [])].sort((a, b) => a - b);
    if (sorted.length === 0) return null;
    const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
    return { p50: at(0.5), p95: at(0.95), calls: sorted.length };
  }

  view() {
    const last = Math.floor(this.now() / MINUTE_MS);
    const servers = [...this.#servers].map(([name, record]) => [name, toView(record, last)] as const);
    /** `until`: the end of the last minute. */
    return { until: (last + 1) * MINUTE_MS, servers: Object.fromEntries(servers) };
  }

  #record(server: string): ServerRecord | undefined {
    const existing = this.#servers.get(server);
    if (existing !== undefined || this.#servers.size >= MAX_SERVERS) return existing;
    const record = { minutes: [], states: [], samples: [] };
    this.#servers.set(server, record);
    return record;
  }
}

/** One value per minute, oldest first. */
function toView({ minutes, states }: ServerRecord, last: number) {
  const hour = Array.from({ length: MINUTES }, (_, index) => {
    const at = last - MINUTES + 1 + index;
    const minute = minutes[at % MINUTES];
    return minute?.at === at ? minute : undefined;
  });
  return {
    calls: hour.map((minute) => minute?.calls ?? 0),
    errors: hour.map((minute) => minute?.errors ?? 0),
    /** Average in milliseconds; null for a minute without calls. */
    latencies: hour.map((minute) =>
      minute === undefined ? null : Math.round((minute.totalMs / minute.calls) * 10) / 10,
    ),
    states,
  };
}
