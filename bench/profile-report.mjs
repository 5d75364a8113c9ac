/** Cost of one call by owner, next to the floor: `npm run bench:profile`; `--write` writes it into docs/performance.md. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";
import { root } from "../scripts/fetch-tool.mjs";
import { writeSection } from "../scripts/write-section.mjs";
import { markdownTable } from "./markdown-table.mjs";

const PROFILE = fileURLToPath(new URL("./profile.mjs", import.meta.url));
const CONTENDERS = ["floor", "toolport"];
const TRANSPORTS = ["stdio", "http-json"];
const CALLS = "20000";
const OWNERS_SHOWN = 6;

const { values: flags } = parseArgs({ options: { write: { type: "boolean", default: false } } });
const run = promisify(execFile);

const rows = [];
for (const transport of TRANSPORTS) {
  for (const contender of CONTENDERS) {
    const args = ["--expose-gc", PROFILE, contender, transport, CALLS, "echo", "--json"];
    const { stdout } = await run(process.execPath, args);
    const { cpuUs, bytes, owners } = JSON.parse(stdout);
    const shares = owners
      .slice(0, OWNERS_SHOWN)
      .map(([owner, share]) => `${owner.replace(/^\((.*)\)$/, "$1")} ${(share * 100).toFixed(0)} %`);
    rows.push([
      transport,
      contender,
      cpuUs.toFixed(0),
      Math.round(bytes).toLocaleString("en"),
      shares.join(", "),
    ]);
  }
}
const headings = [
  "transport",
  "contender",
  "CPU µs a call, profiled",
  "bytes allocated a call",
  "self time by owner",
];
const table = markdownTable(headings, rows).join("\n");
const day = new Date().toISOString().slice(0, 10);
const report = `${day}, Node ${process.version}, 16 calls in flight; the profiler itself costs time, so compare shares.\n\n${table}\n`;
console.log(report);
if (flags.write) writeSection("profile", report, join(root, "docs", "performance.md"));
