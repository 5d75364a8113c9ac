/** Runs the code of one page against a server that asks: `travel` is a real server in memory, stores are temporary. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as toolportPackage from "toolport";
import { createToolport, memoryStore, type Toolport, type ToolportOptions } from "toolport";
import { sqliteStore } from "toolport/sqlite";
import { KEY } from "../contract/server-stores.js";
import { createBookingServer } from "../suspend/booking-server.js";
import { readMarkdown } from "./markdown.js";
import { runSnippet, type SnippetOutput } from "./run-snippet.js";

export function openBookingPage(path: string) {
  const { server, seen } = createBookingServer();
  const folder = mkdtempSync(join(tmpdir(), "toolport-page-"));
  const ports: Toolport[] = [];
  const code = readMarkdown(path).blocks.filter(({ language, notes }) => language === "ts" && notes === "");

  const open = (options: ToolportOptions = {}): Toolport => {
    const port = createToolport({ ...options, mcpServers: { travel: server.memory() } });
    ports.push(port);
    return port;
  };
  const packages = {
    toolport: async () => ({ ...toolportPackage, createToolport: open }),
    "toolport/sqlite": async () => ({
      sqliteStore: (file: string) => sqliteStore(join(folder, file), { key: KEY }),
    }),
    "toolport/postgres": async () => ({ postgresStore: () => memoryStore() }),
    "@langchain/langgraph": () => import("@langchain/langgraph"),
    ai: () => import("ai"),
    "toolport/ai-sdk": () => import("toolport/ai-sdk"),
  };

  return {
    seen,
    /** A port as the code of the page gets it. */
    open,
    /** Runs the only block that contains `text`. */
    async run(text: string, names: Readonly<Record<string, unknown>> = {}): Promise<SnippetOutput> {
      const found = code.filter((block) => block.text.includes(text));
      if (found.length !== 1) throw new Error(`${path} has ${found.length} code blocks with ${text}`);
      return runSnippet(found[0]!.text, names, packages);
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(ports.map((port) => port.close()));
      await server.close();
      rmSync(folder, { recursive: true });
    },
  };
}
