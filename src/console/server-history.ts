/** Calls, errors, latencies and states of each server in the last hour, one value per minute. Kept in memory only. */
import type { ToolportEvents } from "../port/events.js";

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
  readonly #now: () => number;

  /** @param now milliseconds since 1970 */
  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /** Counts every attempt at the server that it was sent to. */
  addCall(news: ToolportEvents["call"]): void {
    if (news.phase === "start" || news.kind === "subscription") return;
    for (const { server, durationMs, error } of news.tries.length > 0 ? news.tries : [news]) {
      const record = this.#record(server);
      if (record === undefined) continue;
      if (error === undefined) record.samples.push(durationMs);
      if (record.samples.length > MAX_SAMPLES) record.samples.shift();
      if (news.outcome === "suspended") continue;
      const at = Math.floor(this.#now() / MINUTE_MS);
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
    record.states.push({ at: this.#now(), state });
    const start = this.#now() - MINUTES * MINUTE_MS;
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
    const last = Math.floor(this.#now() / MINUTE_MS);
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
