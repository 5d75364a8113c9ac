/**
 * Runs the official MCP conformance runner against Toolport's public API: `npm run conformance [-- <scenario>[@<version>] …]`.
 * The `auth/*` scenarios run twice: with Toolport's own OAuth, and with a user-supplied `authProvider` (`--own-provider` for these
 * alone).
 *
 * The runner needs Node 22, Toolport is tested on the Node that runs this script: so Node 22 and the runner are downloaded into
 * `.cache/` and are not in package.json. A scenario passes only if the runner says so and at least the expected
 * number of checks succeeded, because a client that does nothing at all "passes" some scenarios with no check.
 */
import { existsSync, readFileSync } from "node:fs";
import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { cache, fetchNode, fetchTool, run } from "./fetch-tool.mjs";

const RUNNER = "@modelcontextprotocol/conformance";
const RUNNER_VERSION = "0.2.0-alpha.12";
const RUNNER_NODE_MAJOR = 22;
const SCENARIO_TIMEOUT_MS = 30_000;

const client = fileURLToPath(new URL("../test/conformance/client.mjs", import.meta.url));

const OWN_PROVIDER = "--own-provider";

const words = process.argv.slice(2);
const chosen = choosePlan(words.filter((word) => word !== OWN_PROVIDER));
const byOwnProvider = chosen
  .filter(({ scenario }) => scenario.startsWith("auth/"))
  .map((entry) => ({ ...entry, isOwn: true }));
const plan = words.includes(OWN_PROVIDER) ? byOwnProvider : [...chosen, ...byOwnProvider];
const isNewEnough = Number(process.versions.node.split(".")[0]) >= RUNNER_NODE_MAJOR;
const node = isNewEnough ? process.execPath : await fetchNode(RUNNER_NODE_MAJOR);
const runner = join(await fetchTool("conformance", RUNNER, RUNNER_VERSION), "dist", "index.js");
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

async function runScenario({ scenario, specVersion, checks, ownProviderChecks = checks, isOwn = false }) {
  const name = `${scenario}${specVersion ? ` @ ${specVersion}` : ""}${isOwn ? " (own provider)" : ""}`;
  const expected = isOwn ? ownProviderChecks : checks;
  const results = join(cache, "conformance-results", name.replace(/[^\w.-]+/g, "_"));
  await rm(results, { recursive: true, force: true });
  const args = [runner, "client", "--scenario", scenario, "--output-dir", results];
  args.push("--command", `"${process.execPath}" "${client}"`, "--timeout", String(SCENARIO_TIMEOUT_MS));
  if (specVersion) args.push("--spec-version", specVersion);
  const env = { ...process.env, TOOLPORT_CONFORMANCE_OWN_PROVIDER: isOwn ? "1" : "" };
  const { code, output } = await run(node, args, { timeoutMs: SCENARIO_TIMEOUT_MS + 15_000, env });

  const { checks: made, stderr } = await readResults(results);
  const count = (status) => made.filter((check) => check.status === status).length;
  const [passed, failed, warnings] = ["SUCCESS", "FAILURE", "WARNING"].map(count);
  const problems = made
    .filter(({ status }) => status === "FAILURE" || status === "WARNING")
    .map((check) => `${check.status} ${check.name}: ${check.errorMessage ?? check.description}`);
  if (passed < expected) problems.push(`${passed} checks succeeded, at least ${expected} expected`);
  if (code !== 0 && problems.length === 0) problems.push(`the runner ended with exit code ${code}`);
  if (problems.length > 0) problems.push(tail(stderr || output));
  return { name, passed, failed, warnings, verdict: problems.length === 0 ? "pass" : "FAIL", problems };
}

/** The runner writes one directory per run, named after the scenario (`auth/x` nests) and the time. */
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
