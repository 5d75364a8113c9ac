import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const source = (path: string) => fileURLToPath(new URL(`./src/${path}`, import.meta.url));

export default defineConfig({
  resolve: {
    alias: [
      { find: "#platform", replacement: source("transports/platform/node.ts") },
      { find: "#run-bounded", replacement: source("schema/bounded/node.ts") },
      { find: /^toolport$/, replacement: source("index.ts") },
      { find: /^toolport\/(node|testing|console)$/, replacement: source("$1/index.ts") },
      {
        find: /^toolport\/(langchain|ai-sdk|openai|anthropic|gemini|agents)$/,
        replacement: source("adapters/$1/index.ts"),
      },
      { find: /^toolport\/(sqlite|redis|postgres)$/, replacement: source("state/stores/$1/index.ts") },
    ],
  },
  test: {
    include: ["src/**/*.test.ts", "test/**/*.test.ts"],
    // Most tests wait for processes and sockets: one more at a time than there are cores, on the smallest machine.
    maxWorkers: 3,
    testTimeout: 20_000,
    hookTimeout: 20_000,
    // An unhandled rejection anywhere fails the run: that is one of our promises.
    dangerouslyIgnoreUnhandledErrors: false,
  },
});
