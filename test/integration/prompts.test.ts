/** Prompts: required arguments are checked before anything is sent, and the server decides about everything else. */
import { createToolport } from "toolport";
import { createTestServer } from "toolport/testing";
import { describe, expect, test } from "vitest";
import { startJsonRpcServer } from "../fixtures/servers/http-json-rpc.js";
import { failure } from "../support/failure.js";

describe.each(["legacy", "modern"] as const)("a server of the %s era", (era) => {
  const asked: Record<string, string>[] = [];
  const start = () => {
    asked.length = 0;
    return createTestServer({
      era,
      prompts: {
        review: {
          arguments: [{ name: "file", required: true }, { name: "branch", required: true }, { name: "tone" }],
          get: (args) => {
            asked.push(args);
            return `Review ${args["file"]}`;
          },
        },
      },
    });
  };

  test("a prompt without its required arguments is refused before it is sent", async () => {
    await using server = start();
    await using toolport = createToolport({ mcpServers: { docs: (await server.http()).entry } });
    const cases: (Record<string, string> | undefined)[] = [
      undefined,
      { file: undefined as never },
      { tone: "dry", toString: "x" },
    ];
    for (const given of cases) {
      expect(await failure(toolport.getPrompt("docs", "review", given))).toMatchObject({
        name: "ToolCallError",
        code: "INVALID_ARGUMENTS",
        server: "docs",
        what: 'Nothing was sent: the prompt "review" needs "file", "branch"',
        outcome: "unsent",
        retryable: false,
        issues: [
          { path: "file", message: "is required" },
          { path: "branch", message: "is required" },
        ],
      });
    }
    expect(await failure(toolport.getPrompt("docs", "review", { file: "a.ts" }))).toMatchObject({
      issues: [{ path: "branch", message: "is required" }],
    });
    expect(asked).toEqual([]);
  });

  test("an empty text counts as given, and optional arguments may be omitted", async () => {
    await using server = start();
    await using toolport = createToolport({ mcpServers: { docs: server.memory() } });
    await toolport.getPrompt("docs", "review", { file: "a.ts", branch: "" });
    expect(asked).toEqual([{ file: "a.ts", branch: "" }]);
  });

  test("a model that uses prompts as tools gets the missing arguments", async () => {
    await using server = start();
    await using toolport = createToolport({ mcpServers: { docs: server.memory() }, promptsAsTools: true });
    const result = await toolport.callTool("get_prompt", { mcpServer: "docs", name: "review" });
    expect(result).toMatchObject({ isError: true, text: expect.stringContaining('needs "file", "branch"') });
    expect(asked).toEqual([]);
  });
});

test.each([
  ["no list", "everything"],
  ["no names", [null, 7, { required: true }, { name: 5, required: true }]],
  ["required as a text", [{ name: "file", required: "yes" }]],
])("badly declared arguments (%s) do not block a working prompt", async (_, declared) => {
  await using server = await startJsonRpcServer({
    "server/discover": () => ({
      resultType: "complete",
      supportedVersions: ["2026-07-28"],
      capabilities: { prompts: {} },
    }),
    "prompts/list": () => ({
      resultType: "complete",
      ttlMs: 0,
      cacheScope: "private",
      prompts: [{ name: "review", arguments: declared }],
    }),
    "prompts/get": () => ({
      resultType: "complete",
      messages: [{ role: "user", content: { type: "text", text: "Review it" } }],
    }),
  });
  await using toolport = createToolport({ mcpServers: { docs: server.entry } });
  expect((await toolport.getPrompt("docs", "review")).messages).toHaveLength(1);
});
