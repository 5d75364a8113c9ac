/** Latencies of servers over their last calls. */
import type { CallNews } from "../execution/listeners.js";
import type { LatencyView } from "./console-api.js";

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
