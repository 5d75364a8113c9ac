/**
 * Measures which lines of the packages the tests run: `npm run coverage`, or `npm run coverage -- --all`.
 *
 * The lines that `npm test` runs must be at least 85 %. With `--all` the slow tests and the fault suite run too, and `npm test`
 * may be at most 5 points below all of them: a tier that is quick because it tests nothing is of no use. Only what runs in the
 * workers of vitest counts, not the programs that tests start. Works on the built package.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, rm } from "node:fs/promises";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const LEAST_PERCENT = 85;
const MOST_POINTS = 5;
const root = fileURLToPath(new URL("..", import.meta.url));
const folder = join(root, ".cache", "coverage");

const fast = await measure("fast", "--project", "unit", "--project", "integration");
report("npm test", fast);
const problems =
  percentOf(fast) < LEAST_PERCENT ? [`npm test runs less than ${LEAST_PERCENT} % of the lines`] : [];
if (process.argv.includes("--all")) {
  const slow = await measure("slow", "--project", "slow");
  const faults = await measure("faults", "--config", "vitest.faults.config.ts");
  const all = merge(fast, slow, faults);
  report("npm run test:all", all);
  if (percentOf(all) - percentOf(fast) > MOST_POINTS)
    problems.push(`npm test is more than ${MOST_POINTS} points below npm run test:all`);
} else printWorst(fast);
for (const problem of problems) console.error(problem);
process.exitCode = problems.length === 0 ? 0 : 1;

/** The lines of every file: whether each was run. */
async function measure(name, ...args) {
  const directory = join(folder, name);
  await rm(directory, { recursive: true, force: true });
  const options = ["--coverage", "--coverage.reporter=json", `--coverage.reportsDirectory=${directory}`];
  const vitest = join(root, "node_modules/vitest/vitest.mjs");
  // Tests are slower while they are measured.
  const limits = ["--testTimeout=120000", "--hookTimeout=120000"];
  const command = [
    vitest,
    "run",
    ...args,
    "--reporter=dot",
    ...options,
    "--coverage.reportOnFailure",
    ...limits,
  ];
  const child = spawn(process.execPath, command, { cwd: root, stdio: "inherit" });
  const [code] = await once(child, "close");
  if (code !== 0) console.error(`Some tests of ${name} failed: the figures may be too low.`);
  const files = JSON.parse(await readFile(join(directory, "coverage-final.json"), "utf8"));
  return new Map(Object.values(files).map((file) => [relative(root, file.path), linesOf(file)]));
}

/** A line is run if a statement that begins in it is. */
function linesOf({ statementMap, s }) {
  const lines = new Map();
  for (const [id, { start }] of Object.entries(statementMap))
    lines.set(start.line, (lines.get(start.line) ?? false) || s[id] > 0);
  return lines;
}

function merge(...measured) {
  const all = new Map();
  for (const files of measured) {
    for (const [file, lines] of files) {
      const known = all.get(file) ?? new Map();
      for (const [line, isRun] of lines) known.set(line, (known.get(line) ?? false) || isRun);
      all.set(file, known);
    }
  }
  return all;
}

function count(files) {
  const lines = [...files.values()].flatMap((file) => [...file.values()]);
  return { total: lines.length, run: lines.filter(Boolean).length };
}

function percentOf(files) {
  const { total, run } = count(files);
  return total === 0 ? 100 : (100 * run) / total;
}

function report(name, files) {
  const { total, run } = count(files);
  console.log(`${name}: ${percentOf(files).toFixed(1)} % of the lines (${run} of ${total})`);
}

function printWorst(files) {
  const missed = [...files].map(([file, lines]) => ({
    file,
    lines: [...lines.values()].filter((run) => !run).length,
  }));
  const worst = missed.sort((a, b) => b.lines - a.lines).slice(0, 15);
  for (const { file, lines } of worst)
    if (lines > 0) console.log(`${String(lines).padStart(5)} lines not run  ${file}`);
}
