/** The figures of a run as Markdown. */

const STORES = { redis: "Redis", postgres: "PostgreSQL", sqlite: "SQLite" };

const number = (value) => value.toLocaleString("en");

/** One row for each store. */
export function replicaTable(rows) {
  return [
    "| store | calls, of which ask | replicas killed | crossings | run twice | failed with a killed replica | other failures | latest failure after the kill | a call, p50 / p99 |",
    "|---|---|---|---|---|---|---|---|---|",
    ...rows.map(
      (row) =>
        `| ${STORES[row.kind]} | ${number(row.calls)}, ${number(row.asked)} | ${row.kills} | ${row.crossings} | ${row.twice} | ` +
        `${number(row.failures)} | ${row.unexplained + row.late + row["not run"]} | ${(row.latestFailureMs / 1_000).toFixed(1)} s | ` +
        `${number(row.p50Ms)} / ${number(row.p99Ms)} ms |`,
    ),
  ].join("\n");
}
