import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const source = (path: string) => fileURLToPath(new URL(`./src/${path}`, import.meta.url));

export default defineConfig({
  resolve: {
    alias: [
      { find: "#platform", replacement: source("transports/platform/node.ts") },
      { find: "#run-bounded", replacement: source("schema/bounded/node.ts") },
      { find: "#durable-object", replacement: source("adapters/agents/durable-object/plain.ts") },
      { find: /^toolport$/, replacement: source("index.ts") },
      { find: /^toolport\/(node|testing|console)$/, replacement: source("$1/index.ts") },
      {
        find: /^toolport\/(langchain|ai-sdk|openai|anthropic|gemini|agents)$/,
        replacement: source("adapters/$1/index.ts"),
      },
      { find: /^toolport\/agents\/mcp$/, replacement: source("adapters/agents/mcp.ts") },
      { find: /^toolport\/(sqlite|redis|postgres)$/, replacement: source("state/stores/$1/index.ts") },
    ],
  },
  test: {
    include: ["src/**/*.test.ts", "test/**/*.test.ts"],
    // The fault suite has a command of its own; that no row of it is forgotten is held here.
    exclude: ["test/faults/!(manifest).test.ts", "test/package/**", "test/workerd/**", "node_modules/**"],
    // As many as the smallest machine has cores: more would be quicker there, and a test that waits would wait too long.
    maxWorkers: 2,
    testTimeout: 20_000,
    hookTimeout: 20_000,
    // An unhandled rejection anywhere fails the run: that is one of our promises.
    dangerouslyIgnoreUnhandledErrors: false,
  },
});
