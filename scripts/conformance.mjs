/**
 * Runs the official MCP conformance runner against Toolport's public API: `npm run conformance [-- <scenario>[@<version>] …]`.
 * The `auth/*` scenarios run three times: with Toolport's own OAuth, with a user-supplied `authProvider` (`--own-provider` for these
 * alone), and with one that keeps its `discoveryState()` (`--keeping-provider` for these alone).
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

/** The runner and the client mostly wait for each other, so two runs fit on two cores. */
const PARALLEL_RUNS = 2;

/** Who handles the authorization of the `auth/*` scenarios in place of Toolport. `mode` is what the client is started with. */
const PROVIDERS = [
  { flag: "--own-provider", mode: "plain", title: "own provider" },
  { flag: "--keeping-provider", mode: "keeps", title: "own provider, keeps its discovery state" },
];

const words = process.argv.slice(2);
const chosen = choosePlan(words.filter((word) => !PROVIDERS.some(({ flag }) => flag === word)));
const only = PROVIDERS.filter(({ flag }) => words.includes(flag));
const plan = [
  ...(only.length > 0 ? [] : chosen),
  ...(only.length > 0 ? only : PROVIDERS).flatMap((provider) =>
    chosen.filter(({ scenario }) => scenario.startsWith("auth/")).map((entry) => ({ ...entry, provider })),
  ),
];
const isNewEnough = Number(process.versions.node.split(".")[0]) >= RUNNER_NODE_MAJOR;
const node = isNewEnough ? process.execPath : await fetchNode(RUNNER_NODE_MAJOR);
const runner = join(await fetchTool("conformance", RUNNER, RUNNER_VERSION), "dist", "index.js");
const rows = [];
const left = [...plan.entries()];
await Promise.all(
  Array.from({ length: PARALLEL_RUNS }, async () => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      const [index, entry] = next;
      const row = await runScenario(entry);
      rows[index] = row;
      console.log(`${row.verdict === "pass" ? "pass" : "FAIL"}  ${row.name}`);
      if (row.verdict !== "pass") console.log(indent(row.problems.join("\n")));
    }
  }),
);
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

async function runScenario({ scenario, specVersion, checks, ownProviderChecks = checks, provider }) {
  const name = `${scenario}${specVersion ? ` @ ${specVersion}` : ""}${provider ? ` (${provider.title})` : ""}`;
  const expected = provider ? ownProviderChecks : checks;
  const results = join(cache, "conformance-results", name.replace(/[^\w.-]+/g, "_"));
  await rm(results, { recursive: true, force: true });
  const args = [runner, "client", "--scenario", scenario, "--output-dir", results];
  args.push("--command", `"${process.execPath}" "${client}"`, "--timeout", String(SCENARIO_TIMEOUT_MS));
  if (specVersion) args.push("--spec-version", specVersion);
  const env = { ...process.env, TOOLPORT_CONFORMANCE_OWN_PROVIDER: provider?.mode ?? "" };
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
