/** The figures of a load run as Markdown. */

const WORDS = {
  http: "HTTP connections",
  shell: "processes (a shell script each)",
  node: "process",
};
const KINDS = { http: "HTTP", shell: "stdio", node: "stdio" };

const ms = (value) => (value < 10 ? value.toFixed(1) : Math.round(value).toLocaleString("en"));
const kib = (bytes) => `${Math.max(0, Math.round(bytes / 1024))} KiB`;
const pair = ({ p50, p99 }) => `${ms(p50)} / ${ms(p99)} ms`;

/** One row for each kind of connection. */
export function connectionTable(rows) {
  return [
    "| | all connected after | connecting, p50 / p99 | then a call on each, p50 / p99 | resident memory each | heap each |",
    "|---|---|---|---|---|---|",
    ...rows.map(
      ({ kind, count, connectAllMs, connectMs, callMs, rssPerConnection, heapPerConnection }) =>
        `| ${count.toLocaleString("en")} ${WORDS[kind]} | ${(connectAllMs / 1_000).toFixed(1)} s | ${pair(connectMs)} | ` +
        `${pair(callMs)} | ${kib(rssPerConnection)} | ${kib(heapPerConnection)} |`,
    ),
  ].join("\n");
}

/** One row for each scenario with many calls in flight. */
export function inFlightTable(rows) {
  return [
    "| calls in flight | calls a second | a call, p50 / p99 | processor time a call | of that with 100 in flight | resident memory a call |",
    "|---|---|---|---|---|---|",
    ...rows.map(
      ({ kind, count, many, ratio }) =>
        `| ${many.inFlight.toLocaleString("en")} on ${count === 1 ? "one server" : `${count} servers`}, ${KINDS[kind]} | ` +
        `${Math.round(many.callsPerSecond).toLocaleString("en")} | ${pair(many.callMs)} | ` +
        `${Math.round(many.cpuMsPerCall * 1_000)} µs | ${ratio.toFixed(2)} × | ${kib(many.rssPerCall)} |`,
    ),
  ].join("\n");
}
