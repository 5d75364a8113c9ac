/** Settings that every vitest configuration shares: sources instead of the built package, time limits, unhandled errors. */
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const source = (path: string) => fileURLToPath(new URL(`./packages/core/src/${path}`, import.meta.url));

export default defineConfig({
  resolve: {
    alias: [
      { find: "#platform", replacement: source("transports/platform/node.ts") },
      { find: "#run-bounded", replacement: source("schema/bounded/node.ts") },
      { find: "#durable-object", replacement: source("adapters/agents/durable-object/plain.ts") },
      { find: "#code-executor", replacement: source("code/worker-executor.ts") },
      { find: /^toolport$/, replacement: source("index.ts") },
      { find: /^toolport\/(node|testing|console|serve|code|registry)$/, replacement: source("$1/index.ts") },
      { find: /^toolport\/schemas$/, replacement: source("schema/index.ts") },
      {
        find: /^toolport\/(langchain|ai-sdk|openai|anthropic|gemini|agents)$/,
        replacement: source("adapters/$1/index.ts"),
      },
      { find: /^toolport\/agents\/mcp$/, replacement: source("adapters/agents/mcp.ts") },
      { find: /^toolport\/(sqlite|redis|postgres)$/, replacement: source("state/stores/$1/index.ts") },
    ],
  },
  test: {
    reporters: ["default", "./scripts/failure-list.mjs"],
    // The projects share what is transformed: a tenth of the processor time of `npm test`.
    experimental: { fsModuleCache: true },
    // As many workers as the smallest machine has cores: with more, a test that waits for the processor fails.
    maxWorkers: 2,
    // A test that hangs fails; one that shares the machine with others does not. A limit here is never an assertion.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 20_000 } },
    // For `npm run coverage`. The page of the console runs in a browser.
    coverage: {
      provider: "v8",
      include: ["src/**/*.ts"],
      exclude: ["src/**/*.test.ts", "packages/console/src/page/**"],
    },
    // An unhandled rejection in any file fails the run.
    dangerouslyIgnoreUnhandledErrors: false,
  },
});
