/**
 * Compares the command line with mcporter and the MCP Inspector by running all three: `npm run compare:tools`.
 *
 *   --only <text>   only rows whose name contains this text
 *   --verbose       print the output of every command
 *   --write         also write the tables into docs/comparison.md, between its marks, and print the commands that ran
 *
 * Downloads the other programs and Node 24 into `.cache/`. Everything else happens on this machine: servers on loopback addresses, a
 * temporary folder as home.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { INSPECT, PAGE, PROGRAMS, SAFETY } from "./compare-tools/rows-look.mjs";
import { CALLS, SERVERS } from "./compare-tools/rows-use.mjs";
import { runCell } from "./compare-tools/run-cell.mjs";
import { openWorkspace } from "./compare-tools/workspace.mjs";
import { root } from "./fetch-tool.mjs";
import { writeSection } from "./write-section.mjs";

const COLUMNS = ["toolport", "mcporter", "inspector"];

/** For Toolport's commands that need the file with the servers. */
function withConfig(row) {
  const { toolport } = row;
  if (toolport.steps === undefined) return row;
  const own = ["completion", "resume", "--help"];
  const filled = toolport.steps.map((step) =>
    step.isTyped || own.some((word) => step.args.includes(word)) || step.args.includes("--config")
      ? step
      : { ...step, args: [...step.args, "--config", "{folder}/toolport.json", "--yes"] },
  );
  return { ...row, toolport: { steps: filled } };
}

const GROUPS = {
  Servers: SERVERS,
  Calls: CALLS,
  "Look inside": INSPECT,
  "The page in the browser": PAGE,
  "For other programs": PROGRAMS,
  Safety: SAFETY,
};

const { values: flags } = parseArgs({
  options: {
    only: { type: "string", default: "" },
    verbose: { type: "boolean", default: false },
    write: { type: "boolean", default: false },
  },
});

if (flags.write && flags.only !== "") throw new Error("--write needs all rows: leave --only out.");

const versionOf = (path) => JSON.parse(readFileSync(join(root, path, "package.json"), "utf8")).version;

async function runRow(row, workspace) {
  const cells = [];
  for (const column of COLUMNS) {
    const cell = await runCell(row[column], workspace);
    if (flags.verbose && cell.output) console.log(cell.output.slice(0, 3_000));
    cells.push(cell);
  }
  console.log(cells.map(({ mark, isRead }) => mark + (isRead ? "*" : " ")).join(" "), row.what);
  return { what: row.what, cells };
}

/** † for cells that no command checks. */
const markOf = ({ mark, isRead }) => (isRead ? `${mark}†` : mark);

function toTables(groups) {
  const versions = {
    mcporter: versionOf(".cache/mcporter@0.12.3/node_modules/mcporter"),
    inspector: versionOf(".cache/inspector@2/node_modules/@modelcontextprotocol/inspector"),
  };
  const header = `Toolport | mcporter ${versions.mcporter} | Inspector ${versions.inspector} |`;
  return Object.entries(groups)
    .map(([name, rows]) => {
      const lines = rows.map(({ what, cells }) => `| ${what} | ${cells.map(markOf).join(" | ")} |`);
      return [`| ${name} | ${header}`, "|---|---|---|---|", ...lines].join("\n");
    })
    .join("\n\n");
}

function toCommands(groups) {
  const rows = Object.values(groups).flat();
  return rows
    .filter(({ cells }) => cells.some(({ commands }) => commands.length > 0))
    .map(({ what, cells }) => {
      const lines = cells
        .filter(({ commands }) => commands.length > 0)
        .map(({ mark, commands }) => `${mark} ${commands.join(" && ")}`);
      return `${what.replaceAll("`", "")}\n${lines.map((line) => `  ${line}`).join("\n")}`;
    })
    .join("\n");
}

const workspace = await openWorkspace();
const groups = {};
try {
  for (const [name, rows] of Object.entries(GROUPS)) {
    const chosen = rows.filter(({ what }) => what.includes(flags.only)).map(withConfig);
    if (chosen.length === 0) continue;
    groups[name] = [];
    for (const row of chosen) groups[name].push(await runRow(row, workspace));
  }
} finally {
  await workspace.close();
}

if (flags.write) {
  const page = join(root, "docs/comparison.md");
  writeSection("comparison", toTables(groups), page);
  console.log(toCommands(groups));
  console.log("Wrote docs/comparison.md");
}
