/**
 * Runs the suite on every Node that Toolport is made for, and a smoke test on Bun, Deno and workerd: `npm run test:matrix`.
 *
 *     npm run test:matrix -- --only 22,26,bun --files test/integration/many-servers.slow.test.ts
 *
 * `--only` chooses what to run, `--files` which files of the suite. Everything is fetched into `.cache/`.
 */
import { spawn } from "node:child_process";
import { mkdir, readFile, rm } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { cache, fetchNode, root } from "./fetch-tool.mjs";
import { RUNTIMES, startServers } from "./smoke-runtimes.mjs";

const NODE_MAJORS = [20, 22, 24, 26];

const { values } = parseArgs({
  options: {
    only: { type: "string", multiple: true },
    files: { type: "string", multiple: true },
  },
});
const listed = (texts) => texts?.flatMap((text) => text.split(",")).filter((text) => text !== "");
const known = [...NODE_MAJORS.map(String), ...Object.keys(RUNTIMES)];
const chosen = listed(values.only) ?? known;
const unknown = chosen.filter((name) => !known.includes(name));
if (unknown.length > 0) {
  console.error(`There is no ${unknown.join(", ")} in the matrix. Choose from: ${known.join(", ")}`);
  process.exit(1);
}

const rows = [];
for (const major of NODE_MAJORS.filter((number) => chosen.includes(String(number)))) {
  rows.push(await timed(`Node ${major}`, () => runSuite(major, listed(values.files) ?? [])));
}
const runtimes = Object.keys(RUNTIMES).filter((name) => chosen.includes(name));
if (runtimes.length > 0) {
  const { servers, close } = await startServers();
  for (const name of runtimes) rows.push(await timed(name, () => runSmoke(name, servers)));
  await close();
}
printTable(rows);
process.exitCode = rows.every(({ verdict }) => verdict === "pass") ? 0 : 1;

async function timed(name, work) {
  console.log(`\n=== ${name}`);
  const startedAt = performance.now();
  const figures = await work().catch((error) => {
    console.error(error);
    return { passed: 0, failed: 1, skipped: 0 };
  });
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  return { name, ...figures, seconds, verdict: figures.failed === 0 && figures.passed > 0 ? "pass" : "FAIL" };
}

async function runSuite(major, files) {
  const node = await fetchNode(major);
  const report = join(cache, "matrix", `node${major}.json`);
  await mkdir(dirname(report), { recursive: true });
  await rm(report, { force: true });
  const vitest = join(root, "node_modules", "vitest", "vitest.mjs");
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
  // Programs that tests start by the name "node" are to be of the same version.
  const env = { ...process.env, PATH: `${dirname(node)}${delimiter}${process.env.PATH}` };
  const child = spawn(node, [vitest, "run", ...reporters, ...files], { cwd: root, stdio: "inherit", env });
  const code = await new Promise((resolve, reject) => child.once("error", reject).once("close", resolve));
  const { numPassedTests, numFailedTests, numPendingTests } = JSON.parse(await readFile(report, "utf8"));
  // A file that cannot be loaded, or an unhandled error, fails no test but the run.
  const failed = numFailedTests || (code === 0 ? 0 : 1);
  return { passed: numPassedTests, failed, skipped: numPendingTests };
}

async function runSmoke(name, servers) {
  const lines = await RUNTIMES[name](servers);
  for (const line of lines) console.log(`  ${line}`);
  return { passed: lines.length, failed: 0, skipped: 0 };
}

function printTable(lines) {
  const numbers = ["passed", "failed", "skipped", "seconds"];
  console.log(`\n${"runtime".padEnd(8)}  ${numbers.join("  ")}  verdict`);
  for (const line of lines) {
    const cells = numbers.map((key) => String(line[key]).padStart(key.length));
    console.log(`${line.name.padEnd(8)}  ${cells.join("  ")}  ${line.verdict}`);
  }
}
