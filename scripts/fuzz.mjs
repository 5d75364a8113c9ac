/**
 * The fuzzers: `npm run fuzz [-- --write] [-- -t "wire over HTTP"]`.
 *
 * Ten minutes by default, split over the models: `FUZZ_SECONDS=30 npm run fuzz` for less. A failure prints how to repeat it
 * (`FUZZ_SEED`, `FUZZ_PATH`). `--write` writes the figures into docs/reliability.md; other arguments are passed to Vitest.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { writeSection } from "./write-section.mjs";

const vitest = fileURLToPath(new URL("../node_modules/vitest/vitest.mjs", import.meta.url));
const config = fileURLToPath(new URL("../vitest.fuzz.config.ts", import.meta.url));
const given = process.argv.slice(2).filter((argument) => argument !== "--write");
const folder = mkdtempSync(join(tmpdir(), "toolport-fuzz-"));
const file = join(folder, "figures");

const env = { ...process.env, FUZZ_FIGURES: file };
const child = spawn(process.execPath, [vitest, "run", "--config", config, ...given], {
  env,
  stdio: "inherit",
});
const [code] = await once(child, "exit");
const table = describe(readFigures());
rmSync(folder, { recursive: true });
console.log(`\n${table}`);
if (code === 0 && process.argv.includes("--write")) writeSection("fuzz", table);
process.exitCode = code ?? 1;

function readFigures() {
  try {
    return readFileSync(file, "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
  } catch {
    return []; // failed before the first model finished
  }
}

function describe(models) {
  const seconds = models.reduce((sum, model) => sum + model.seconds, 0);
  const rows = models.map(
    ({ name, runs, seconds: took, seed, failed }) =>
      `| ${name} | ${runs.toLocaleString("en")} | ${took.toFixed(0)} | ${seed} | ${failed ? "FAILED" : "clean"} |`,
  );
  return [
    `${(seconds / 60).toFixed(1)} minutes on Node ${process.versions.node}.`,
    "",
    "| model | runs | seconds | seed | |",
    "|---|---|---|---|---|",
    ...rows,
  ].join("\n");
}
