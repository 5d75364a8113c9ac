/** Checks that samples stay flat: a line fitted through the heap, and counts that do not grow. */

/** Warm-up that is ignored: memory settles while code is compiled and pools fill. */
const WARM_UP_SHARE = 0.25;
const MIB = 1024 * 1024;
/** Allowed growth of the fitted line over the whole run; less is noise of the garbage collector. */
const MAX_HEAP_GROWTH = MIB;
/**
 * The number of sockets varies with recent cuts, and idle ones are kept for as long as the server allows: each of the four
 * HTTP servers has as many as there ever were concurrent requests, handshakes and cancellations included.
 */
const SLACK = { fds: 32, listeners: 0, timers: 2, children: 0 };

/** Least squares: growth of `y` per `x`. */
function slope(points) {
  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [meanX, meanY] = [mean(points.map(([x]) => x)), mean(points.map(([, y]) => y))];
  const above = points.reduce((sum, [x, y]) => sum + (x - meanX) * (y - meanY), 0);
  const below = points.reduce((sum, [x]) => sum + (x - meanX) ** 2, 0);
  return below === 0 ? 0 : above / below;
}

/** Figures and a list of what is not flat. With few samples the heap is not judged. */
export function judgeFlatness(samples, { minSamples = 20 } = {}) {
  const settled = samples.slice(Math.floor(samples.length * WARM_UP_SHARE));
  const [first, last] = [settled[0], settled.at(-1)];
  const perMs = slope(settled.map(({ ms, heapUsed }) => [ms, heapUsed]));
  const growth = perMs * (last.ms - first.ms);
  const calls = last.calls - first.calls;
  const problems = [];
  if (settled.length >= minSamples && growth > MAX_HEAP_GROWTH)
    problems.push(`the heap grew by ${(growth / MIB).toFixed(2)} MiB over ${calls} calls`);
  for (const [name, slack] of Object.entries(SLACK)) {
    const [early, late] = [quarter(settled, name, "first"), quarter(settled, name, "last")];
    if (late > early + slack) problems.push(`${name} grew from ${early} to ${late}`);
  }
  return {
    problems,
    growthMib: growth / MIB,
    mibPerHour: (perMs * 3_600_000) / MIB,
    bytesPerCall: calls === 0 ? 0 : growth / calls,
    fds: range(settled, "fds"),
    listeners: range(settled, "listeners"),
    timers: range(settled, "timers"),
    children: range(settled, "children"),
  };
}

/** Median of the first or the last quarter. */
function quarter(samples, name, which) {
  const size = Math.max(1, Math.floor(samples.length / 4));
  const part = which === "first" ? samples.slice(0, size) : samples.slice(-size);
  return part.map((sample) => sample[name]).sort((a, b) => a - b)[Math.floor(part.length / 2)];
}

const range = (samples, name) => {
  const values = samples.map((sample) => sample[name]);
  return [Math.min(...values), Math.max(...values)];
};
