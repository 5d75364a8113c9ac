/**
 * Runs the server scenarios of the official MCP conformance runner through the gateway: `npm run conformance:gateway [-- options]`.
 *
 *   --only <words>       only rows whose name contains all of the words: `--only "http-1/modern 2026-07-28"`
 *   --scenario <name>    only this scenario of each row
 *   --store <kind>       the store of the replicas: redis (default, if installed) or sqlite
 *   --jobs <number>      groups of rows that run at once (default 2)
 *   --details            what the runner saw, for each check that failed
 *
 * A row is `<setup>/<era of the upstream>/<suite>`: the conformance server of `packages/gateway/test/fixture` asked directly, over stdio behind an
 * HTTP pipe, through one gateway with 1 or 10 upstreams, through a gateway over stdio, and through 3 replicas behind a load balancer
 * without stickiness. A row is complete if every scenario made a check and no check failed or warned.
 */
import { parseArgs } from "node:util";
import { createCleanup, hasRedis, startRow } from "./conformance-gateway/processes.mjs";
import { fetchRunner, RUNNER_VERSION } from "./conformance-gateway/runner.mjs";

/** Suites, and how many scenarios they have. `tasks-status-notifications` makes no check, so it is left out. */
const TASKS = [
  ...["lifecycle", "capability-negotiation", "wire-fields", "request-state-removal", "mrtr-input"],
  ...["request-headers", "dispatch-and-envelope", "required-task-error", "mrtr-composition"],
].map((name) => `tasks-${name}`);
const SUITES = {
  "2025-06-18": { revision: "2025-06-18", count: 27 },
  "2025-11-25": { revision: "2025-11-25", count: 33 },
  "2026-07-28": { revision: "2026-07-28", count: 40 },
  tasks: { scenarios: TASKS, count: TASKS.length },
};
const PROTOCOLS = { legacy: "legacy", modern: { pin: "2026-07-28" } };
const SETUPS = {
  "http-1": { transport: "http", upstreams: 1 },
  "http-10": { transport: "http", upstreams: 10 },
  "stdio-1": { transport: "stdio", upstreams: 1 },
  "replicas-1": { transport: "replicas", upstreams: 1 },
};

const { values } = parseArgs({
  options: {
    only: { type: "string", default: "" },
    scenario: { type: "string" },
    store: { type: "string" },
    jobs: { type: "string", default: "2" },
    details: { type: "boolean", default: false },
  },
});
const store = values.store ?? (hasRedis() ? "redis" : "sqlite");

/** Rows with the same servers run one after the other, so that they are started once. */
function plan() {
  const words = values.only.split(/\s+/).filter(Boolean);
  const groups = [
    { setup: "direct", era: "both", start: { transport: "http" } },
    { setup: "direct-stdio", era: "both", start: { transport: "stdio" }, hasTasks: false },
    ...Object.entries(SETUPS).flatMap(([setup, start]) =>
      Object.entries(PROTOCOLS).map(([era, protocol]) => ({
        setup,
        era,
        start: { ...start, protocol, store },
        // Tasks of 2025-11-25 are another protocol, for which the runner has no scenario.
        hasTasks: era === "modern",
      })),
    ),
  ];
  return groups
    .map(({ setup, era, start, hasTasks = true }) => ({
      start,
      rows: Object.entries(SUITES)
        .filter(([suite]) => suite !== "tasks" || hasTasks)
        .map(([suite, options]) => ({ name: `${setup}/${era}/${suite}`, ...options }))
        .filter(({ name }) => words.every((word) => name.includes(word))),
    }))
    .filter(({ rows }) => rows.length > 0);
}

const runner = await fetchRunner();
const cleanups = new Set();
const groups = plan();
const queue = [...groups];
const done = [];

for (const signal of ["SIGINT", "SIGTERM"]) {
  process.once(signal, async () => {
    await Promise.all([...cleanups].map((cleanup) => cleanup.close()));
    process.exit(130);
  });
}

async function work() {
  for (let group = queue.shift(); group !== undefined; group = queue.shift()) {
    const cleanup = createCleanup();
    cleanups.add(cleanup);
    try {
      const url = await startRow(group.start, cleanup);
      for (const row of group.rows) report(await runRow(row, url));
    } catch (error) {
      for (const row of group.rows.filter(({ name }) => !done.some((other) => other.name === name))) {
        report({
          ...row,
          good: 0,
          passed: 0,
          failed: [{ scenario: "(start)", problems: [{ text: String(error) }] }],
        });
      }
    } finally {
      await cleanup.close();
      cleanups.delete(cleanup);
    }
  }
}

async function runRow({ name, count, revision, scenarios }, url) {
  const chosen = values.scenario === undefined ? scenarios : [values.scenario];
  const found = await runner.run(name, url, { revision, scenarios: chosen });
  const failed = found.filter(({ problems }) => problems.length > 0);
  return {
    name,
    count: values.scenario === undefined ? count : 1,
    good: found.length - failed.length,
    passed: found.reduce((sum, { passed }) => sum + passed, 0),
    failed,
  };
}

function report(row) {
  done.push(row);
  console.log(`${isComplete(row) ? "pass" : "FAIL"}  ${row.name}  ${row.good} of ${row.count}`);
  for (const { scenario, problems } of row.failed) {
    for (const { text, details } of problems) {
      console.log(`      ${scenario}: ${text}`);
      if (values.details && details) console.log(`        ${JSON.stringify(details).slice(0, 1_500)}`);
    }
  }
}

const isComplete = ({ good, count, failed }) => good === count && failed.length === 0;

await Promise.all(Array.from({ length: Number(values.jobs) }, work));

const rows = groups.flatMap((group) => group.rows.map(({ name }) => done.find((row) => row.name === name)));
const width = Math.max(...rows.map(({ name }) => name.length));
console.log(`\n${"row".padEnd(width)}  scenarios  checks  verdict`);
for (const row of rows) {
  const scenarios = `${row.good} of ${row.count}`.padStart(9);
  console.log(
    `${row.name.padEnd(width)}  ${scenarios}  ${String(row.passed).padStart(6)}  ${isComplete(row) ? "complete" : "NOT COMPLETE"}`,
  );
}
const complete = rows.filter(isComplete).length;
console.log(
  `\n${complete} of ${rows.length} rows complete (runner ${RUNNER_VERSION}, replicas over ${store})`,
);
if (complete < rows.length || rows.length === 0) process.exitCode = 1;
