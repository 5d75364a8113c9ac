/** Runs every code block of the documentation that needs only servers, against real ones. */
import { describe, expect, it } from "vitest";
import { createDocumentationWorld } from "./documentation-world.js";
import { readDocumentation } from "./markdown.js";
import { runSnippet } from "./run-snippet.js";

/** Requirements without a stand-in here; the examples and the adapter suites run most of this code. */
const NEEDS: readonly (readonly [what: string, pattern: RegExp])[] = [
  ["a model", /createAgent|new OpenAI\(\)/],
  ["files, a browser or a console", /toolport\/(?:node|console)"|node:fs/],
  ["a database", /toolport\/(?:sqlite|redis|postgres)"/],
  ["a registry", /McpRegistryClient/],
  ["a login", /callbackUrl|finishAuth|oauth:/],
  ["servers at their URLs", /toolport\/agents"|MultiServerMCPClient|StreamableHTTPClientTransport/],
  ["a test runner, a recording, or its own ports", /"vitest"|recordServer|serveStdio/],
  ["an issuer, or its own ports", /toolport\/serve"/],
  ["its own class", /^export class/m],
  ["a task or a skill of a server", /task: |\.tasks\(|\.task\(|\.skills\(/],
];

/** Pages with a separate test. */
const ELSEWHERE = [
  "docs/from-langchain4j.md",
  "docs/human-in-the-loop.md",
  "docs/durable-engines.md",
  "docs/policies.md",
];

const blocks = readDocumentation()
  .filter(({ path }) => !ELSEWHERE.includes(path))
  .flatMap(({ path, blocks: found }) => found.map((block) => ({ path, ...block })))
  .filter(({ language, notes }) => language === "ts" && notes === "");
const runnable = blocks.filter(({ text }) => !NEEDS.some(([, pattern]) => pattern.test(text)));

const PACKAGES = {
  "ajv/dist/2020.js": () => import("ajv/dist/2020.js"),
  ai: () => import("ai"),
  zod: () => import("zod"),
  "@anthropic-ai/sdk": () => import("@anthropic-ai/sdk"),
  "@google/genai": () => import("@google/genai"),
  "@modelcontextprotocol/client": () => import("@modelcontextprotocol/client"),
  "@modelcontextprotocol/client/stdio": () => import("@modelcontextprotocol/client/stdio"),
  "@modelcontextprotocol/server": () => import("@modelcontextprotocol/server"),
  "toolport/ai-sdk": () => import("toolport/ai-sdk"),
  "toolport/anthropic": () => import("toolport/anthropic"),
  "toolport/gemini": () => import("toolport/gemini"),
};

describe("code of the documentation", () => {
  it("runs for the most part", () => {
    expect(runnable.length).toBeGreaterThan(blocks.length / 2);
  });

  it.each(runnable)("$path:$line runs", async ({ text }) => {
    await using world = createDocumentationWorld(text);
    const names = { toolport: world.toolport, error: new Error("an error of the surrounding text") };
    await runSnippet(text, names, { toolport: world.package, ...PACKAGES });
  });
});
