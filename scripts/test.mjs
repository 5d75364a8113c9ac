/**
 * Runs the checks of a tier and says which passed: `npm test`, `npm run test:slow`, `npm run test:all`.
 *
 * Lint and types run beside the build and the tests, because each of them keeps one core busy at most. Tests start when the
 * build has ended: some of them look at `dist/`. Arguments after `--` go to vitest, for example `npm test -- packages/cli/test`.
 *
 * The names of all failed tests come last, because the end of a long log is the part that is kept and read.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const npm = process.platform === "win32" ? "npm.cmd" : "npm";

const given = process.argv.slice(2);
const isSlow = given.includes("--slow") || given.includes("--all");
const isFast = !given.includes("--slow");
const forVitest = given.filter((arg) => arg !== "--slow" && arg !== "--all");
const rows = [];
const failures = [];
/** At most this many failures are printed below the table, and with their errors only if there are few. */
const MAX_FAILURES = 50;
const MAX_WITH_ERRORS = 5;
const ERROR_LINES = 3;
const LINE_LENGTH = 240;

const temporary = mkdtempSync(join(tmpdir(), "toolport-failures-"));
const failureList = join(temporary, "list.jsonl");

// The output of these would be mixed with that of the tests, so it is shown when they have ended.
const beside = isFast
  ? [quiet("lint", "run", "lint", "--", "--diagnostic-level=error"), quiet("types", "run", "typecheck")]
  : [];
if (await quiet("build", "run", "build")) {
  if (isFast) await vitest("unit and integration", "--project", "unit", "--project", "integration");
  if (isSlow) await runSlow();
}
await Promise.all(beside);
readFailures();
rmSync(temporary, { recursive: true, force: true });
printTable();
printFailures();
process.exitCode = rows.every(({ ok }) => ok) ? 0 : 1;

/** One after the other: the fault suite looks at processes and sockets, and the rest may use both cores. */
async function runSlow() {
  await vitest("slow", "--project", "slow");
  if (forVitest.length > 0) return;
  await vitest("faults", "--config", "vitest.faults.config.ts");
  await vitest("packed package", "--config", "vitest.package.config.ts");
  await vitest("workerd", "--config", "vitest.workerd.config.ts");
  await loud("LangChain versions", process.execPath, "scripts/langchain-versions.mjs");
}

function vitest(name, ...args) {
  return loud(name, process.execPath, "node_modules/vitest/vitest.mjs", "run", ...args, ...forVitest);
}

function loud(name, command, ...args) {
  console.log(`\n== ${name}`);
  const env = { ...process.env, TOOLPORT_FAILURE_LIST: failureList };
  return part(name, spawn(command, args, { cwd: root, env, stdio: "inherit" }));
}

async function quiet(name, ...args) {
  const shell = process.platform === "win32";
  const child = spawn(npm, ["--silent", ...args], { cwd: root, stdio: ["ignore", "pipe", "pipe"], shell });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text) => {
      output += text;
    });
  }
  const ok = await part(name, child);
  if (!ok) {
    console.error(`\n== ${name} failed\n${output}`);
    failures.push({ where: name, error: output.replace(/^npm warn .*$/gm, "") });
  }
  return ok;
}

/** Waits for the end of a process, and adds a row to the table. */
async function part(name, child) {
  const startedAt = performance.now();
  const [code, signal] = await once(child, "close");
  rows.push({ name, ok: code === 0, seconds: (performance.now() - startedAt) / 1_000, signal });
  return code === 0;
}

function printTable() {
  console.log("");
  for (const { name, ok, seconds, signal } of rows) {
    console.log(
      `${ok ? "passed" : "FAILED"}  ${name.padEnd(22)}${seconds.toFixed(1).padStart(7)} s  ${signal ?? ""}`,
    );
  }
}

function readFailures() {
  if (!existsSync(failureList)) return;
  for (const line of readFileSync(failureList, "utf8").split("\n")) {
    if (line !== "") failures.push(JSON.parse(line));
  }
}

function printFailures() {
  if (failures.length === 0) return;
  console.log("");
  const errorLines = failures.length > MAX_WITH_ERRORS ? 1 : ERROR_LINES;
  for (const { where, error } of failures.slice(0, MAX_FAILURES)) {
    const lines = error.split("\n").filter((line) => line.trim() !== "");
    const separator = errorLines === 1 ? ": " : "\n    ";
    const shown = lines.slice(0, errorLines).map((line) => line.trim().slice(0, LINE_LENGTH));
    console.log([`FAILED  ${where}`, ...shown].join(separator));
  }
  if (failures.length > MAX_FAILURES) console.log(`and ${failures.length - MAX_FAILURES} more`);
}
