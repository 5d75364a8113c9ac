/** Statements of the guides that were wrong once: each is compared with what the code does. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createToolport, type RequestOrigin } from "toolport";
import { createTestServer } from "toolport/testing";
import { expect, onTestFinished, test } from "vitest";
import { registerOpenTelemetry } from "../support/open-telemetry.js";
import { waitFor } from "../support/wait-for.js";
import { readMarkdown, root } from "./markdown.js";

/** Names in backticks in the first column of the tables of a page whose first header begins with `header`. */
function namesInTable(page: string, header: string): string[] {
  const { lines } = readMarkdown(page);
  const start = lines.findIndex((line) => line.startsWith(`| ${header}`));
  if (start === -1) throw new Error(`${page} has no table that begins with ${header}`);
  const rows = lines.slice(start + 2);
  return rows
    .slice(0, rows.indexOf(""))
    .flatMap((row) => [...(row.split("|")[1] ?? "").matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name));
}

test("docs/telemetry.md lists every span, attribute and histogram, and no other", async () => {
  const otel = registerOpenTelemetry();
  onTestFinished(() => otel.dispose());
  const definition = {
    tools: {
      add: {
        inputSchema: { type: "object" as const, properties: { n: { type: "number" as const } } },
        handler: () => "1",
      },
    },
    resources: { "test://a": { text: "A" } },
    prompts: {
      ask: { arguments: [{ name: "topic" }], complete: { topic: () => ["tea"] }, get: () => "Hello" },
    },
  };
  await using server = createTestServer(definition);
  const http = await server.http();
  await using toolport = createToolport({
    mcpServers: { web: http.entry, pipe: (await server.stdio()).entry },
    approve: ({ server: { name } }) => (name === "pipe" ? "suspend" : true),
  });
  await toolport.connect();
  expect(otel.spans()).toEqual([]); // discovery has none
  await toolport.callTool("web__add", { n: "1" });
  await toolport.callTool("pipe__add", {}, { suspend: true });
  await toolport.readResource("web", "test://a");
  await (await toolport.subscribe("web", "test://a", () => {}))();
  await toolport.getPrompt("pipe", "ask", { topic: "tea" });
  await toolport.complete("web", { prompt: "ask" }, { name: "topic", value: "t" });
  await toolport.readResource("web", "test://none").catch(() => {});
  await toolport.close();
  const measured = await waitFor(async () => {
    const found = await otel.measured();
    return found.some(({ name }) => name === "mcp.client.session.duration") ? found : undefined;
  });

  const spans = otel.spans();
  const firstWord = (name: string) => name.split(" ")[0];
  expect(new Set(namesInTable("docs/telemetry.md", "span |").map(firstWord))).toEqual(
    new Set(spans.map(({ name }) => firstWord(name))),
  );
  const seen = new Set(spans.flatMap(({ attributes }) => Object.keys(attributes)));
  expect(new Set(namesInTable("docs/telemetry.md", "attribute |"))).toEqual(seen);
  expect(new Set(namesInTable("docs/telemetry.md", "histogram"))).toEqual(
    new Set(measured.map(({ name }) => name)),
  );

  const source = readFileSync(join(root, "packages/base/src/telemetry/open-telemetry.ts"), "utf8");
  const known = [...source.matchAll(/"((?:gen_ai|mcp|toolport|jsonrpc|network|server|error|rpc)\.[\w.]+)"/g)]
    .map(([, name = ""]) => name)
    .filter((name) => !name.startsWith("mcp.client."));
  expect(new Set(known)).toEqual(seen);
});

test("docs/users.md: every user has sockets of their own", async () => {
  // A server that reports no changes is read once.
  await using server = createTestServer({
    tools: { hello: { handler: () => "hello" } },
    capabilities: { tools: {} },
  });
  const http = await server.http();
  await using toolport = createToolport({ mcpServers: { web: http.entry } });
  const ada = toolport.as("ada");
  await ada.callTool("web__hello");
  const ofAda = http.connectionCount;
  await ada.callTool("web__hello");
  expect(http.connectionCount).toBe(ofAda);
  await toolport.as("bob").callTool("web__hello");
  expect(http.connectionCount).toBeGreaterThan(ofAda);
});

test("docs/users.md: requests of servers name the user", async () => {
  const origins: RequestOrigin[] = [];
  await using server = createTestServer({
    era: "legacy",
    tools: {
      ask: {
        async handler(_args, { request }) {
          const form = { type: "object" as const, properties: { name: { type: "string" as const } } };
          const { action } = await request.mcpReq.elicitInput({ message: "Who?", requestedSchema: form });
          return action;
        },
      },
    },
  });
  await using toolport = createToolport({
    mcpServers: { shop: server.memory() },
    onElicitation: (_request, origin) => {
      origins.push(origin);
      return { action: "decline" };
    },
  });
  expect((await toolport.as("ada").callTool("shop__ask")).text).toBe("decline");
  expect(origins).toMatchObject([{ server: "shop", tool: "ask", principal: "ada" }]);
});

test("docs/testing.md: intercept is called for other paths only with anyPath", async () => {
  const seen: string[] = [];
  const intercept = (request: Request) => {
    seen.push(new URL(request.url).pathname);
    return new Response("mine");
  };
  await using server = createTestServer({ tools: {} });
  const usual = await server.http({ intercept });
  const open = await server.http({ intercept, anyPath: true });
  const statusOf = async (url: string) => (await fetch(url)).status;
  expect(await statusOf(usual.url)).toBe(200);
  expect(await statusOf(new URL("/token", usual.url).href)).toBe(404);
  expect(await statusOf(new URL("/token", open.url).href)).toBe(200);
  expect(seen).toEqual(["/mcp", "/token"]);
});

test("docs/migrating.md: filter gets the server first, as an object; refresh() reads lists again", async () => {
  let listed = 0;
  await using server = createTestServer({ tools: { hello: { handler: () => "hello" } } });
  const { url } = await server.http({
    async intercept(request) {
      if ((await request.clone().text()).includes('"tools/list"')) listed += 1;
      return undefined;
    },
  });
  const wrong = (given: unknown) => given === "web";
  await using none = createToolport({ mcpServers: { web: { url } }, filter: wrong });
  expect(await none.tools()).toEqual([]);
  // What a filter excludes is no fault; the error of a call names the reason.
  expect(none.snapshot().withheldTools).toEqual([]);
  await expect(none.callTool("web__hello")).rejects.toMatchObject({
    code: "TOOL_WITHHELD",
    reason: "Excluded by a filter",
  });

  await using toolport = createToolport({
    mcpServers: { web: { url } },
    filter: ({ name }, tool) => name === "web" && tool.name === "hello",
  });
  const before = listed;
  expect(await toolport.tools()).toHaveLength(1);
  await toolport.tools({ force_refresh: true } as never);
  expect(listed).toBe(before + 1);
  await toolport.refresh();
  expect(listed).toBe(before + 2);
});

test('docs/from-langchain4j.md: with onServerError "throw", connect() and tools() throw', async () => {
  const mcpServers = { broken: { command: "no-such-program" } };
  await using toolport = createToolport({ mcpServers, onServerError: "throw" });
  await expect(toolport.tools()).rejects.toMatchObject({ code: "SPAWN_FAILED", server: "broken" });
  await expect(toolport.connect()).rejects.toMatchObject({ code: "SPAWN_FAILED", server: "broken" });
});
