/** The results as Markdown: a table, the measured libraries, and how to read it. */
import os from "node:os";

const MARK = { true: "✔", false: "✘" };

function cell(result) {
  if (result === undefined) return "–";
  if (result.isSkipped) return "n/a";
  if (result.error !== undefined) return `not probed: ${toCell(result.error)}`;
  const unhandled = result.unhandled > 0 ? `; ${result.unhandled} unhandled rejection(s)` : "";
  return `${MARK[result.survived]} ${toCell(result.fact)}${unhandled}`;
}

const toCell = (text) => text.replaceAll("|", "\\|").replaceAll("<", "&lt;");
const row = (cells) => `| ${cells.join(" | ")} |`;

/** `contenders` are `{ name, title, configuration }`; `results[fault][contender]` is the result of each probe. */
export function toReport({ faults, contenders, results, capMs }) {
  const lines = [
    row(["probe", "catalogue", "fault, and expected behaviour", ...contenders.map(({ title }) => title)]),
    `|${"---|".repeat(3 + contenders.length)}`,
    ...faults.map(({ id, rows, title }) =>
      row([id, rows, toCell(title), ...contenders.map(({ name }) => cell(results[id]?.[name]))]),
    ),
    row(["", "", "**survived**", ...contenders.map(({ name }) => tally(faults, results, name))]),
  ];
  const [cpu] = os.cpus();
  return [
    lines.join("\n"),
    `Node ${process.versions.node}, ${process.platform}, ${os.cpus().length} × ${cpu?.model ?? "unknown CPU"}, ` +
      `${new Date().toISOString().slice(0, 10)}. Written by \`npm run compare:faults -- --write\`, one run of each probe.`,
    "**How to read it.** ✔ survived, ✘ did not, n/a: does not apply to a library with one client per server. Every probe runs in a " +
      "fresh process, and first without the fault. The fault servers run in their own processes, so that memory (the rise to the peak " +
      `of RSS) and event loop are those of the library. A probe that takes longer than ${capMs / 1000} s is stopped.`,
    "**Configuration.** Each library is configured as its documentation recommends, not only with its defaults:",
    contenders.map(({ title, configuration }) => `- ${title}: ${configuration}.`).join("\n"),
    "The other libraries keep OAuth credentials in a provider object of the caller, here a store in memory; in 7.10e it contains tokens of " +
      "an earlier login without their issuer. Toolport is probed with that object, and with its own login and record.",
  ].join("\n\n");
}

function tally(faults, results, name) {
  const own = faults.map(({ id }) => results[id]?.[name]).filter((result) => result?.survived !== undefined);
  return `**${own.filter(({ survived }) => survived).length} of ${own.length}**`;
}
