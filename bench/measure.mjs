/** Runs the plan: every contender in turn, in an order that rotates with every round. */
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

const WORKER = fileURLToPath(new URL("./worker.mjs", import.meta.url));
const WORKER_TIMEOUT_MS = 90_000;

/**
 * A minimal environment: some contenders pass theirs to stdio servers and some do not, and variables such as
 * `NODE_EXTRA_CA_CERTS` double the start time of every Node process.
 */
const { PATH, HOME } = process.env;
const ENV = { PATH, HOME, MCP_USE_ANONYMIZED_TELEMETRY: "false", MASTRA_TELEMETRY_DISABLED: "1" };

function runWorker(contender, metric, params) {
  return new Promise((resolve) => {
    const args = ["--expose-gc", WORKER, contender, metric, JSON.stringify(params)];
    const stdio = ["ignore", "pipe", "pipe"];
    const options = { env: ENV, stdio, timeout: WORKER_TIMEOUT_MS, killSignal: "SIGKILL" };
    const child = spawn(process.execPath, args, options);
    let out = "";
    let problems = "";
    child.stdout.setEncoding("utf8").on("data", (text) => {
      out += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text) => {
      problems = (problems + text).slice(-2000);
    });
    child.once("error", (error) => resolve({ error: error.message }));
    child.once("close", () => {
      const line = out.split("\n").find((text) => text.startsWith("RESULT "));
      const lastWords = problems.trim().split("\n").at(-1)?.slice(0, 120) || "it took too long";
      resolve(line === undefined ? { error: lastWords } : JSON.parse(line.slice("RESULT ".length)));
    });
  });
}

/** One variant: the result of each contender in each round. */
async function measureVariant({ metric, params, rounds, contenders }) {
  const results = Object.fromEntries(contenders.map((contender) => [contender, []]));
  for (let round = 0; round < rounds; round++) {
    // Rotated, so that no contender always runs after the same one.
    const first = (round * 2) % contenders.length;
    const order = [...contenders.slice(first), ...contenders.slice(0, first)];
    for (const contender of order) results[contender][round] = await runWorker(contender, metric, params);
  }
  return results;
}

/** The results of the plan: `results[metric][variant][contender][round]`. */
export async function measure(plan, { contenders, isQuick, onDone }) {
  const results = {};
  let correct = contenders;
  for (const { metric, rounds, variants } of plan) {
    const ofMetric = {};
    results[metric] = ofMetric;
    for (const { label, params, quick, inQuick = true } of variants) {
      if (isQuick && !inQuick) continue;
      ofMetric[label] = await measureVariant({
        metric,
        params: isQuick ? { ...params, ...quick } : params,
        rounds: isQuick ? 1 : rounds,
        contenders: correct,
      });
      onDone(`${metric}: ${label}`);
    }
    if (metric === "verify") correct = contenders.filter((name) => !isWrong(ofMetric, name));
  }
  return results;
}

/** Whether a contender failed any correctness check. */
export const isWrong = (verified, contender) =>
  Object.values(verified).some((results) => results[contender][0].error !== undefined);
