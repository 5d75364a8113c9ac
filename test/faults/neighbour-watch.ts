/** Calls a healthy server continuously while another one is broken, and reports whether its calls suffered. */
import { type IntervalHistogram, monitorEventLoopDelay } from "node:perf_hooks";
import type { Toolport } from "toolport";
import { expect } from "vitest";
import { atMost } from "./at-most.js";

export interface NeighbourReport {
  /** No call failed, the median latency stayed, the event loop was not blocked. */
  expectHealthy(limits: { maxLagMs: number }): void;
}

export interface NeighbourWatch {
  /** Stops the calls. Further calls return the same report. */
  stop(): Promise<NeighbourReport>;
}

const EVERY_MS = 20;
/** A call to the neighbour takes about one millisecond; this is the "+50 ms" of the common rule. */
const MEDIAN_LIMIT_MS = 50;
/** In a very short case the median shows only the slowest moment, or a busy machine. */
const ENOUGH = 20;
/** The short limits of a case are for its broken server: the neighbour is a process on a machine that may be busy. */
const PATIENT = { timeoutMs: 60_000 };

/** Starts at once; the first call waits for the start of the neighbour and is not counted. */
export function watchNeighbour(toolport: Toolport, server: string): NeighbourWatch {
  const tookMs: number[] = [];
  const failures: unknown[] = [];
  // Created on demand: a disabled monitor counts as an active resource until it is collected.
  let lag: IntervalHistogram | undefined;
  const ending = new AbortController();
  const name = `${server}__echo`;

  async function watch(): Promise<void> {
    await toolport.callTool(name, { text: "first" }, PATIENT);
    lag = monitorEventLoopDelay({ resolution: 10 });
    lag.enable();
    while (!ending.signal.aborted) {
      const began = performance.now();
      const { text } = await toolport.callTool(name, { text: "well" }, PATIENT);
      tookMs.push(performance.now() - began);
      if (text !== "well") failures.push(new Error(`The neighbour answered ${text}`));
      await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
    }
  }
  // A test that closes the port ends the watch; any other failure is a finding.
  const running = watch().catch((error: { code?: string }) => {
    if (error.code !== "CLOSED") failures.push(error);
  });

  let report: Promise<NeighbourReport> | undefined;
  async function end(): Promise<NeighbourReport> {
    ending.abort();
    await running;
    lag?.disable();
    const worstLagMs = (lag?.max ?? 0) / 1e6;
    return {
      expectHealthy({ maxLagMs }) {
        expect(failures, "failures of the neighbour").toEqual([]);
        if (tookMs.length >= ENOUGH)
          expect(median(tookMs), "median of the neighbour's calls, ms").toBeLessThanOrEqual(
            atMost(MEDIAN_LIMIT_MS),
          );
        expect(worstLagMs, "longest hold-up of the event loop, ms").toBeLessThanOrEqual(atMost(maxLagMs));
      },
    };
  }
  return { stop: () => (report ??= end()) };
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
