/**
 * Runs the LangChain adapter's tests with the oldest and the newest `@langchain/core` that package.json allows:
 * `npm run test:langchain-versions`.
 *
 * These tests compare a tool with LangChain's own tool, case by case, so a version in which they differ fails here. The
 * versions are downloaded into `.cache/`: the oldest has an advisory, so it is not a development dependency.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { cache, fetchTool, npmInstall, root, run } from "./fetch-tool.mjs";

const NAME = "@langchain/core";
const OLDEST = "1.0.0";
/** Tests that need only `@langchain/core` of LangChain, and those of interrupts, which need no certain version of LangGraph. */
const TESTS = [
  ...["structured-tools", "tools", "timeouts.slow", "content", "load-errors"].map(
    (name) => `packages/adapters/test/langchain-${name}.test.ts`,
  ),
  ...["interrupts", "places.slow"].map((name) => `test/suspend/langgraph-${name}.test.ts`),
];

// Vitest ignores a name that matches no file.
for (const test of TESTS) if (!existsSync(join(root, test))) throw new Error(`${test} does not exist`);

const { peerDependencies } = JSON.parse(readFileSync(join(root, "packages/toolport/package.json"), "utf8"));
if (peerDependencies[NAME] !== `^${OLDEST}`)
  throw new Error(
    `package.json allows ${NAME} ${peerDependencies[NAME]}: the oldest version is no longer ${OLDEST}`,
  );

async function fetchNewest() {
  const prefix = join(cache, "langchain-core-newest");
  await npmInstall(prefix, [`${NAME}@${peerDependencies[NAME]}`]);
  return join(prefix, "node_modules", NAME);
}

for (const folder of [await fetchTool("langchain-core", NAME, OLDEST), await fetchNewest()]) {
  const { version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const vitest = join(root, "node_modules/vitest/vitest.mjs");
  const { code, output } = await run(
    process.execPath,
    [vitest, "run", "--config", "vitest.langchain.config.ts", ...TESTS],
    { env: { ...process.env, LANGCHAIN_CORE: folder } },
  );
  if (code !== 0) {
    console.error(output);
    throw new Error(`The LangChain adapter's tests failed with ${NAME} ${version}`);
  }
  console.log(`${NAME} ${version}: ${TESTS.length} test files passed`);
}
