/** Settings that every vitest configuration shares: sources instead of the built package, time limits, unhandled errors. */
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const source = (path: string) => fileURLToPath(new URL(`./packages/${path}`, import.meta.url));

export default defineConfig({
  resolve: {
    alias: [
      { find: /^toolport$/, replacement: source("toolport/src/index.ts") },
      { find: /^toolport\/(testing|console|code|registry|schemas)$/, replacement: source("$1/src/index.ts") },
      { find: /^toolport\/node$/, replacement: source("config/src/index.ts") },
      { find: /^toolport\/serve$/, replacement: source("gateway/src/index.ts") },
      {
        find: /^toolport\/(langchain|ai-sdk|openai|anthropic|gemini|agents)$/,
        replacement: source("adapters/src/$1/index.ts"),
      },
      { find: /^toolport\/agents\/mcp$/, replacement: source("adapters/src/agents/mcp.ts") },
      { find: /^toolport\/(sqlite|redis|postgres)$/, replacement: source("stores/src/$1/index.ts") },
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
      include: ["packages/*/src/**/*.ts"],
      exclude: ["packages/*/src/**/*.test.ts", "packages/console/src/page/**"],
    },
    // An unhandled rejection in any file fails the run.
    dangerouslyIgnoreUnhandledErrors: false,
  },
});
