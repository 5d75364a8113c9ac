/** Runs the official MCP conformance runner against a server, and reads what it found. */
import { existsSync } from "node:fs";
import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { cache, fetchNode, fetchTool, run } from "../fetch-tool.mjs";

const RUNNER = "@modelcontextprotocol/conformance";
export const RUNNER_VERSION = "0.2.0-alpha.12";
const RUNNER_NODE_MAJOR = 22;
const SCENARIO_MS = 15_000;
const SUITE_MS = 300_000;

/** The runner needs Node 22, Toolport is tested on the Node that runs the script. */
export async function fetchRunner() {
  const isNewEnough = Number(process.versions.node.split(".")[0]) >= RUNNER_NODE_MAJOR;
  const node = isNewEnough ? process.execPath : await fetchNode(RUNNER_NODE_MAJOR);
  const program = join(await fetchTool("conformance", RUNNER, RUNNER_VERSION), "dist", "index.js");

  /** Runs all scenarios of a revision, or one scenario, in one process. */
  async function runOnce(url, results, choice) {
    const args = [program, "server", "--url", url, "--timeout", String(SCENARIO_MS), "--output-dir", results];
    const { output } = await run(node, [...args, ...choice], { timeoutMs: SUITE_MS });
    return output;
  }

  return {
    /**
     * @param suite a revision, or the names of scenarios
     * @returns the scenarios in the order they ran: `{ scenario, passed, problems }`
     */
    async run(name, url, { revision, scenarios }) {
      const results = join(cache, "conformance-results", name.replace(/[^\w.-]+/g, "_"));
      await rm(results, { recursive: true, force: true });
      const version = revision === undefined ? [] : ["--spec-version", revision];
      const choices = scenarios?.map((scenario) => ["--scenario", scenario, ...version]);
      let output = "";
      for (const choice of choices ?? [["--suite", "all", ...version]]) {
        output += await runOnce(url, results, choice);
      }
      const found = await readScenarios(results);
      if (found.length === 0)
        throw new Error(`The runner wrote no result for ${name}:\n${output.slice(-2_000)}`);
      return found;
    },
  };
}

/** The runner writes one folder per scenario: `server-<scenario>-<time>`. */
async function readScenarios(folder) {
  const names = existsSync(folder) ? (await readdir(folder)).sort() : [];
  return Promise.all(
    names.map(async (name) => {
      const scenario = name.replace(/^server-/, "").replace(/-\d{4}-\d\d-\d\dT[\d-]+Z$/, "");
      const path = join(folder, name, "checks.json");
      // The runner was stopped during this scenario.
      if (!existsSync(path)) return { scenario, passed: 0, problems: [{ text: "NOT FINISHED" }] };
      return { scenario, ...judge(JSON.parse(await readFile(path, "utf8"))) };
    }),
  );
}

/** A scenario without a successful check proves nothing; a warning is a rule that the server does not follow. */
function judge(checks) {
  const passed = checks.filter(({ status }) => status === "SUCCESS").length;
  const problems = checks
    .filter(({ status }) => status === "FAILURE" || status === "WARNING")
    .map(({ id, status, errorMessage, description, details }) => ({
      text: `${status} ${id}: ${errorMessage ?? description}`,
      details,
    }));
  if (passed === 0 && problems.length === 0) problems.push({ text: "EMPTY: no check was made" });
  return { passed, problems };
}
