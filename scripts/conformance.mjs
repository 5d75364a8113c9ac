/**
 * Runs the official MCP conformance runner against Toolport's public API: `npm run conformance [-- <scenario>[@<version>] …]`.
 *
 * The runner needs Node 22, Toolport is tested on the Node that runs this script: so Node 22 and the runner are fetched into
 * `.cache/`, never into package.json. A scenario counts as passed only when the runner says so and at least the expected
 * number of checks succeeded, because a client that does nothing at all "passes" some scenarios with no check.
 */
import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { mkdir, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const RUNNER = "@modelcontextprotocol/conformance";
const RUNNER_VERSION = "0.2.0-alpha.12";
const RUNNER_NODE_MAJOR = 22;
const SCENARIO_TIMEOUT_MS = 30_000;

const root = fileURLToPath(new URL("..", import.meta.url));
const cache = join(root, ".cache");
const client = fileURLToPath(new URL("../test/conformance/client.mjs", import.meta.url));

const plan = choosePlan(process.argv.slice(2));
const node = await fetchNode();
const runner = await fetchRunner();
const rows = [];
for (const entry of plan) {
  const row = await runScenario(entry);
  rows.push(row);
  console.log(`${row.verdict === "pass" ? "pass" : "FAIL"}  ${row.name}`);
  if (row.verdict !== "pass") console.log(indent(row.problems.join("\n")));
}
printTable(rows);
process.exitCode = rows.every((row) => row.verdict === "pass") ? 0 : 1;

/** The scenarios named on the command line (`name` or `name@2026-07-28`), else the whole list. */
function choosePlan(names) {
  const all = JSON.parse(readFileSync(new URL("./conformance-scenarios.json", import.meta.url), "utf8"));
  if (names.length === 0) return all;
  return names.flatMap((name) => {
    const [scenario, specVersion] = name.split("@");
    const listed = all.filter(
      (entry) => entry.scenario === scenario && (!specVersion || entry.specVersion === specVersion),
    );
    return listed.length > 0 ? listed : [{ scenario, ...(specVersion && { specVersion }), checks: 1 }];
  });
}

/** Path of a Node that the runner starts on: this one when it is new enough, else one from the npm registry. */
async function fetchNode() {
  if (Number(process.versions.node.split(".")[0]) >= RUNNER_NODE_MAJOR) return process.execPath;
  const windows = process.platform === "win32";
  const name = `node-${windows ? "win" : process.platform}-${process.arch}`;
  const prefix = join(cache, `node${RUNNER_NODE_MAJOR}`);
  const binary = join(prefix, "node_modules", name, "bin", windows ? "node.exe" : "node");
  if (!existsSync(binary)) await npmInstall(prefix, `${name}@${RUNNER_NODE_MAJOR}`);
  return binary;
}

async function fetchRunner() {
  const prefix = join(cache, "conformance");
  const home = join(prefix, "node_modules", RUNNER);
  const manifest = join(home, "package.json");
  const installed = existsSync(manifest) && JSON.parse(readFileSync(manifest, "utf8")).version;
  if (installed !== RUNNER_VERSION) await npmInstall(prefix, `${RUNNER}@${RUNNER_VERSION}`);
  return join(home, "dist", "index.js");
}

async function npmInstall(prefix, what) {
  console.log(`Fetching ${what} …`);
  await mkdir(prefix, { recursive: true });
  const args = [
    "install",
    "--prefix",
    prefix,
    "--no-audit",
    "--no-fund",
    "--ignore-scripts",
    "--silent",
    what,
  ];
  const npm = process.env.npm_execpath;
  const { code, output } = npm
    ? await run(process.execPath, [npm, ...args])
    : await run(process.platform === "win32" ? "npm.cmd" : "npm", args);
  if (code !== 0) throw new Error(`npm could not fetch ${what} (exit code ${code}).\n${output}`);
}

async function runScenario({ scenario, specVersion, checks: expected }) {
  const name = specVersion ? `${scenario} @ ${specVersion}` : scenario;
  const results = join(cache, "conformance-results", name.replace(/[^\w.-]+/g, "_"));
  await rm(results, { recursive: true, force: true });
  const args = [runner, "client", "--scenario", scenario, "--output-dir", results];
  args.push("--command", `"${process.execPath}" "${client}"`, "--timeout", String(SCENARIO_TIMEOUT_MS));
  if (specVersion) args.push("--spec-version", specVersion);
  const { code, output } = await run(node, args, SCENARIO_TIMEOUT_MS + 15_000);

  const { checks, stderr } = await readResults(results);
  const count = (status) => checks.filter((check) => check.status === status).length;
  const [passed, failed, warnings] = ["SUCCESS", "FAILURE", "WARNING"].map(count);
  const problems = checks
    .filter(({ status }) => status === "FAILURE" || status === "WARNING")
    .map((check) => `${check.status} ${check.name}: ${check.errorMessage ?? check.description}`);
  if (passed < expected) problems.push(`${passed} checks succeeded, at least ${expected} expected`);
  if (code !== 0 && problems.length === 0) problems.push(`the runner ended with exit code ${code}`);
  if (problems.length > 0) problems.push(tail(stderr || output));
  return { name, passed, failed, warnings, verdict: problems.length === 0 ? "pass" : "FAIL", problems };
}

/** The runner writes one directory a run, named after the scenario (`auth/x` nests) and the time. */
async function readResults(directory) {
  const files = existsSync(directory) ? await readdir(directory, { recursive: true }) : [];
  const found = files.find((file) => file.endsWith("checks.json"));
  if (!found) return { checks: [], stderr: "" };
  const path = join(directory, found);
  return {
    checks: JSON.parse(await readFile(path, "utf8")),
    stderr: await readFile(path.replace(/checks\.json$/, "stderr.txt"), "utf8").catch(() => ""),
  };
}

function run(command, args, timeoutMs) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd: root,
      stdio: ["ignore", "pipe", "pipe"],
      timeout: timeoutMs,
      shell: command.endsWith(".cmd"),
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text) => {
        output += text;
      });
    }
    child.once("error", reject);
    child.once("close", (code) => resolve({ code: code ?? 1, output }));
  });
}

function printTable(rows) {
  const width = Math.max(...rows.map((row) => row.name.length), "scenario".length);
  console.log(`\n${"scenario".padEnd(width)}  passed  failed  warnings  verdict`);
  for (const { name, passed, failed, warnings, verdict } of rows) {
    const numbers = [String(passed).padStart(6), String(failed).padStart(6), String(warnings).padStart(8)];
    console.log(`${name.padEnd(width)}  ${numbers.join("  ")}  ${verdict}`);
  }
  const good = rows.filter((row) => row.verdict === "pass").length;
  console.log(`\n${good} of ${rows.length} scenarios passed (${RUNNER} ${RUNNER_VERSION})`);
}

function indent(text) {
  return text.replace(/^/gm, "      ");
}

function tail(text) {
  return text.trimEnd().split("\n").slice(-15).join("\n");
}
