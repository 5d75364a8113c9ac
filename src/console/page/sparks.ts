/** Small pictures of the last hour: latency, errors, states, and the number of calls. */
import type { VNode } from "preact";
import type { HistoryView, ServerHistoryView } from "../console-api.js";
import { duration, plural } from "./format.js";
import { html } from "./html.js";
import { STATE_TONES } from "./widgets.js";

const HOUR_MS = 3_600_000;
const [WIDTH, HEIGHT] = [120, 22];
const sum = (values: readonly number[]): number => values.reduce((all, value) => all + value, 0);

/** Average latency as a line, failed calls as red bars below it. */
export function LatencySpark({ history }: { history: ServerHistoryView | undefined }): VNode | null {
  const calls = sum(history?.calls ?? []);
  if (history === undefined || calls === 0) return null;
  const step = WIDTH / history.calls.length;
  const slowest = Math.max(...history.latencies.map((value) => value ?? 0), 1);
  const points = history.latencies.flatMap((value, index) =>
    value === null
      ? []
      : [
          `${((index + 0.5) * step).toFixed(1)},${(HEIGHT - 4 - (value / slowest) * (HEIGHT - 6)).toFixed(1)}`,
        ],
  );
  const failures = sum(history.errors);
  const text = `Last hour: ${plural(calls, "call")}, ${plural(failures, "error")}, slowest minute ${duration(slowest)}`;
  return html`<svg class="spark" viewBox=${`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label=${text}><title>${text}</title>
    ${points.length > 1 ? html`<polyline points=${points.join(" ")} />` : html`<circle cx=${points[0]?.split(",")[0]} cy=${points[0]?.split(",")[1]} r="1.5" />`}
    ${history.errors.map((count, index) => count > 0 && html`<rect class="failed" x=${index * step} y=${HEIGHT - 4} width=${step} height="4" />`)}
  </svg>`;
}

/** The states of the last hour as a strip. */
export function StateStrip({
  history,
  until,
}: {
  history: ServerHistoryView | undefined;
  until: number;
}): VNode | null {
  const states = history?.states ?? [];
  if (states.length === 0) return null;
  const at = (time: number) => Math.max(0, (1 - (until - time) / HOUR_MS) * 100);
  const parts = states.map(({ at: from, state }, index) => {
    const x = at(from);
    const end = at(states[index + 1]?.at ?? until);
    return html`<rect class=${STATE_TONES[state] ?? "calm"} x=${x} width=${Math.max(end - x, 0.4)} height="4"><title>${state}</title></rect>`;
  });
  const text = `States in the last hour, now ${states.at(-1)?.state}`;
  return html`<svg class="strip" viewBox="0 0 100 4" preserveAspectRatio="none" role="img" aria-label=${text}>${parts}</svg>`;
}

/** Calls per minute of all servers; the failed part is red. */
export function CallVolume({ history }: { history: HistoryView | null | undefined }): VNode | null {
  const all = Object.values(history?.servers ?? {});
  const total = (values: (server: ServerHistoryView) => readonly number[]) =>
    Array.from({ length: 60 }, (_, index) => sum(all.map((server) => values(server)[index] ?? 0)));
  const calls = total((server) => server.calls);
  const errors = total((server) => server.errors);
  if (sum(calls) === 0) return null;
  const most = Math.max(...calls);
  const bar = (value: number) => (value / most) * 40;
  const text = `${plural(sum(calls), "call")} and ${plural(sum(errors), "error")} in the last hour, ${most} in the busiest minute`;
  return html`<figure class="volume"><svg viewBox="0 0 240 40" preserveAspectRatio="none" role="img" aria-label=${text}>
      ${calls.map((count, index) => count > 0 && html`<rect x=${index * 4} y=${40 - bar(count)} width="3" height=${bar(count)} />`)}
      ${errors.map((count, index) => count > 0 && html`<rect class="failed" x=${index * 4} y=${40 - bar(count)} width="3" height=${bar(count)} />`)}
    </svg><figcaption class="muted small">${text}</figcaption></figure>`;
}
