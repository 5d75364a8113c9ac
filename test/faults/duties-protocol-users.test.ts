/** Duties of a client towards its users: pages that they should open, calls made once, tools with distinct names. */
import { createToolport, type ElicitationRequest } from "toolport";
import { createTestServer } from "toolport/testing";
import { expect } from "vitest";
import { startFaultServer } from "../fixtures/servers/fault-http.js";
import { startJsonRpcServer } from "../fixtures/servers/http-json-rpc.js";
import { openCanary } from "./canary.js";
import { faultCase } from "./fault-case.js";
import type { FaultHarness } from "./fault-harness.js";

/** A tool that asks the user to open a page, and returns the answer as text. */
const pages = (url: string) =>
  createTestServer({
    era: "legacy",
    tools: {
      page: {
        async handler(_args, { server }) {
          const params = { mode: "url", message: "Pay", elicitationId: "e1", url } as const;
          return JSON.stringify(await server.elicitInput(params));
        },
      },
    },
  });

async function openPage(harness: FaultHarness, url: string, action: "accept" | "decline") {
  const server = harness.keep(pages(url));
  const shown: Extract<ElicitationRequest, { mode: "url" }>[] = [];
  const toolport = harness.open(
    { it: server.memory() },
    {
      onElicitation: {
        url(request) {
          shown.push(request);
          return { action };
        },
      },
    },
  );
  const { text } = await toolport.callTool("it__page");
  return { shown, answer: JSON.parse(text) as { action: string } };
}

faultCase("S28", "the whole URL is shown, and the page is never fetched", async (harness) => {
  const canary = await openCanary(harness);
  const url = `http://${canary.host}/pay?invoice=42&return=https%3A%2F%2Fother.example#top`;
  for (const action of ["accept", "decline"] as const) {
    const { shown, answer } = await openPage(harness, url, action);
    expect(answer).toEqual({ action });
    expect(shown).toMatchObject([{ url, host: canary.host, isPunycode: false, message: "Pay" }]);
  }
  expect(canary.visits()).toBe(0);
});

faultCase("S28", "a host that imitates another is shown in its encoded form", async (harness) => {
  const { shown } = await openPage(harness, "https://www.pаypal.example/login", "decline");
  expect(shown).toMatchObject([{ isPunycode: true, host: expect.stringMatching(/^www\.xn--/) }]);
  expect(shown[0]?.url).toMatch(/^[\x20-\x7e]+$/);
});

/** As a modern server asks: the SDK does not check its request. */
async function askByResult(harness: FaultHarness, url: string) {
  let answer: unknown;
  const params = { mode: "url", message: "Pay", elicitationId: "e1", url };
  const server = await startJsonRpcServer({
    "tools/list": () => ({ tools: [{ name: "page", inputSchema: { type: "object" } }] }),
    "tools/call": ({ params: { inputResponses } }) => {
      if (inputResponses === undefined)
        return {
          resultType: "input_required",
          inputRequests: { it: { method: "elicitation/create", params } },
        };
      answer = inputResponses;
      return { content: [] };
    },
  });
  harness.atEnd(() => server[Symbol.asyncDispose]());
  let asked = 0;
  const toolport = harness.open(
    { it: server.entry },
    {
      onElicitation: {
        url() {
          asked += 1;
          return { action: "accept" };
        },
      },
    },
  );
  await toolport.callTool("it__page");
  return { asked, answer };
}

for (const url of [
  "javascript:alert(1)",
  "file:///etc/passwd",
  "data:text/html,x",
  "https://bank.example@evil.example/",
  "vscode://extension/run",
  "not a url",
]) {
  faultCase("S28", `no user is asked to open ${url}`, async (harness) => {
    expect(await askByResult(harness, url)).toEqual({ asked: 0, answer: { it: { action: "decline" } } });
    expect(
      harness.logged.some((line) => line.startsWith("warn") && line.includes("declined it without asking")),
    ).toBe(true);
  });
}

faultCase("S28", "a client that cannot show pages does not declare it", async (harness) => {
  const server = harness.keep(pages("https://pay.example/"));
  const toolport = harness.open({ it: server.memory() }, { onElicitation: () => ({ action: "decline" }) });
  expect((await toolport.callTool("it__page")).isError).toBe(true);
});

const HINTED = [
  { name: "reads", inputSchema: { type: "object" }, annotations: { readOnlyHint: true } },
  {
    name: "again",
    inputSchema: { type: "object" },
    annotations: { idempotentHint: true, destructiveHint: false },
  },
];

for (const { name } of HINTED) {
  faultCase(
    "S29",
    `${name}: called once, despite its hints, unless the server is trusted`,
    async (harness) => {
      const server = harness.keep(
        await startFaultServer({
          tools: HINTED,
          before: ({ message }, response) => {
            if (message?.method !== "tools/call") return false;
            setImmediate(() => response.socket?.resetAndDestroy());
            return true;
          },
        }),
      );
      const toolport = harness.open({
        it: server.entry,
        trusted: { ...server.entry, trustAnnotations: true },
      });
      await toolport.connect();
      const calls = () => server.seen.filter(({ message }) => message?.method === "tools/call").length;
      const lost = { code: ["STREAM_CUT", "UNREACHABLE", "CLOSED"], withinMs: 5_000 };
      await harness.fails(toolport.callTool(`it__${name}`), { ...lost, server: "it" });
      expect(calls()).toBe(1);
      await harness.fails(toolport.callTool(`trusted__${name}`), { ...lost, server: "trusted" });
      expect(calls()).toBeGreaterThan(2);
    },
  );
}

faultCase(
  "S30",
  "two servers with the same name and tool: two tool names, each calls its own server",
  async (harness) => {
    const [one, two] = ["one", "two"].map((text) =>
      harness.keep(createTestServer({ name: "the same", tools: { search: { handler: () => text } } })),
    );
    const mcpServers = { one: one!.memory(), two: two!.memory() };
    for (const prefix of [true, false]) {
      await using toolport = createToolport({ mcpServers, prefix });
      const tools = await toolport.tools();
      expect(new Set(tools.map(({ name }) => name)).size).toBe(2);
      for (const { name, server } of tools) expect((await toolport.callTool(name)).text).toBe(server);
      expect(JSON.stringify(tools)).not.toContain("the same");
    }
  },
  { neighbour: false },
);
