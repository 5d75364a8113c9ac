/** Calls, errors, latencies and states of each server. Kept in memory only. */
import type { CallNews } from "../execution/listeners.js";
import type { HistoryView, LatencyView, ServerHistoryView } from "./console-api.js";

const MINUTE_MS = 60_000;
const MINUTES = 60;
const MAX_STATES = 100;
const MAX_SERVERS = 1_000;

interface Minute {
  /** Minutes since 1970: the slot is reused after an hour. */
  at: number;
  calls: number;
  errors: number;
  totalMs: number;
}

interface ServerRecord {
  readonly minutes: Minute[];
  states: { readonly at: number; readonly state: string }[];
}

export class ServerHistory {
  readonly #servers = new Map<string, ServerRecord>();
  readonly #now: () => number;

  /** @param now milliseconds since 1970 */
  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /** Counts every attempt at the server that it was sent to. */
  addCall(news: CallNews): void {
    if (news.phase === "start" || news.kind === "subscription" || news.outcome === "suspended") return;
    const tries = news.tries.length > 0 ? news.tries : [{ ...news, error: news.error }];
    for (const { server, durationMs, error } of tries) {
      const minute = this.#minute(server);
      if (minute === undefined) continue;
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
    record.states.push({ at: this.#now(), state });
    const start = this.#now() - MINUTES * MINUTE_MS;
    // Keep the state in which the hour began.
    const first = record.states.findLastIndex(({ at }) => at <= start);
    record.states = record.states.slice(Math.max(first, 0)).slice(-MAX_STATES);
  }

  view(): HistoryView {
    const last = Math.floor(this.#now() / MINUTE_MS);
    const servers = [...this.#servers].map(([name, record]) => [name, toView(record, last)] as const);
    return { until: (last + 1) * MINUTE_MS, servers: Object.fromEntries(servers) };
  }

  #record(server: string): ServerRecord | undefined {
    const known = this.#servers.get(server);
    if (known !== undefined || this.#servers.size >= MAX_SERVERS) return known;
    const record = { minutes: [], states: [] };
    this.#servers.set(server, record);
    return record;
  }

  #minute(server: string): Minute | undefined {
    const record = this.#record(server);
    const at = Math.floor(this.#now() / MINUTE_MS);
    const slot = at % MINUTES;
    if (record !== undefined && record.minutes[slot]?.at !== at)
      record.minutes[slot] = { at, calls: 0, errors: 0, totalMs: 0 };
    return record?.minutes[slot];
  }
}

function toView({ minutes, states }: ServerRecord, last: number): ServerHistoryView {
  const calls: number[] = [];
  const errors: number[] = [];
  const latencies: (number | null)[] = [];
  for (let at = last - MINUTES + 1; at <= last; at++) {
    const minute = minutes[at % MINUTES];
    const isThis = minute?.at === at;
    calls.push(isThis ? minute.calls : 0);
    errors.push(isThis ? minute.errors : 0);
    latencies.push(isThis && minute.calls > 0 ? Math.round((minute.totalMs / minute.calls) * 10) / 10 : null);
  }
  return { calls, errors, latencies, states };
}

const MAX_SAMPLES = 200;

export class Latencies {
  readonly #samples = new Map<string, number[]>();

  /** Records the latency of every response at the server that sent it. */
  add(news: CallNews): void {
    if (news.phase === "start" || news.kind === "subscription") return;
    if (news.tries.length > 0) {
      for (const { server, durationMs, error } of news.tries)
        if (error === undefined) this.#note(server, durationMs);
    } else if (news.outcome !== "error") this.#note(news.server, news.durationMs);
  }

  of(server: string): LatencyView | null {
    const samples = this.#samples.get(server);
    if (samples === undefined) return null;
    const sorted = [...samples].sort((a, b) => a - b);
    const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
    return { p50: at(0.5), p95: at(0.95), calls: sorted.length };
  }

  #note(server: string, durationMs: number): void {
    const samples = this.#samples.get(server) ?? [];
    this.#samples.set(server, samples);
    samples.push(durationMs);
    if (samples.length > MAX_SAMPLES) samples.shift();
  }
}
