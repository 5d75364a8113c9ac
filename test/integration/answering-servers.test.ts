/** What servers ask while they work is answered by the options of the port, whichever way their era asks. */
import { inputRequired } from "@modelcontextprotocol/server";
import { createToolport, type ToolportOptions } from "toolport";
import { createTestServer, type TestTool } from "toolport/testing";
import { describe, expect, test } from "vitest";
import { failure } from "../support/failure.js";
import { waitFor } from "../support/wait-for.js";

const schema = {
  type: "object",
  properties: { name: { type: "string", default: "Ada" }, age: { type: "integer" } },
  required: ["name"],
} as const;
const question = { message: "Who are you?", requestedSchema: schema };
const messages = [{ role: "user" as const, content: { type: "text" as const, text: "2+2?" } }];

/** The legacy era asks by requests of the server's own. */
const legacy: Record<string, TestTool> = {
  name: { handler: async (_args, { server }) => JSON.stringify(await server.elicitInput(question as never)) },
  sample: {
    handler: async (_args, { server }) =>
      JSON.stringify(await server.createMessage({ messages, maxTokens: 10 })),
  },
  roots: { handler: async (_args, { server }) => JSON.stringify(await server.listRoots()) },
};

/** The modern era answers that it needs to know more, and is called again. */
const needing =
  (request: ReturnType<typeof inputRequired.elicit>): TestTool["handler"] =>
  (_args, context) => {
    const { inputResponses } = context.request.mcpReq;
    if (inputResponses === undefined) return inputRequired({ inputRequests: { it: request } });
    return JSON.stringify((inputResponses as Record<string, unknown>)["it"]);
  };
const modern: Record<string, TestTool> = {
  name: { handler: needing(inputRequired.elicit(question as never)) },
  sample: { handler: needing(inputRequired.createMessage({ messages, maxTokens: 10 })) },
  roots: { handler: needing(inputRequired.listRoots()) },
};

describe.each([
  ["legacy", "memory"],
  ["legacy", "http"],
  ["modern", "memory"],
  ["modern", "http"],
] as const)("%s, over %s", (era, transport) => {
  async function open(options: ToolportOptions) {
    const server = createTestServer({ era, tools: era === "legacy" ? legacy : modern });
    const entry = transport === "memory" ? server.memory() : (await server.http()).entry;
    const toolport = createToolport({ mcpServers: { s: entry }, ...options });
    return {
      toolport,
      ask: async (tool: string, port = toolport) =>
        JSON.parse((await port.callTool(`s__${tool}`)).text) as unknown,
      async [Symbol.asyncDispose]() {
        await toolport.close();
        await server.close();
      },
    };
  }

  test("a user is asked, with the server and the tool that asks; defaults are filled in", async () => {
    const asked: unknown[] = [];
    await using scene = await open({
      onElicitation(request, { signal, ...origin }) {
        asked.push([request.message, origin]);
        return { action: "accept", content: { age: 36 } };
      },
    });
    expect(await scene.ask("name")).toEqual({ action: "accept", content: { name: "Ada", age: 36 } });
    expect(asked).toEqual([["Who are you?", { server: "s", tool: "name" }]]);
  });

  test("a user who declines is heard", async () => {
    await using scene = await open({ onElicitation: () => ({ action: "decline" }) });
    expect(await scene.ask("name")).toEqual({ action: "decline" });
  });

  test("a user who thinks for longer than the time limit of the call does not end it", async () => {
    await using scene = await open({
      timeoutMs: 150,
      onElicitation: async () => {
        await new Promise((resolve) => setTimeout(resolve, 350));
        return { action: "cancel" };
      },
    });
    expect(await scene.ask("name")).toEqual({ action: "cancel" });
  });

  test("an abort of the call takes the question away", async () => {
    let asked: AbortSignal | undefined;
    await using scene = await open({
      onElicitation: (_request, { signal }) => {
        asked = signal;
        return new Promise((_resolve, reject) =>
          signal.addEventListener("abort", () => reject(signal.reason)),
        );
      },
    });
    const caller = new AbortController();
    const calling = failure(scene.toolport.callTool("s__name", {}, { signal: caller.signal }));
    await waitFor(() => asked);
    const reason = new Error("never mind");
    caller.abort(reason);
    expect(await calling).toBe(reason);
    await waitFor(() => asked?.aborted);
  });

  test("a model is asked, and roots are told", async () => {
    await using scene = await open({
      onSampling: ({ messages: given, maxTokens }, { server, tool }) => ({
        role: "assistant",
        model: "abacus",
        content: { type: "text", text: `${server}/${tool}: ${given.length} ${maxTokens}` },
      }),
      roots: ({ server }) => [{ uri: `file:///${server}` }],
    });
    expect(await scene.ask("sample")).toMatchObject({ model: "abacus", content: { text: "s/sample: 1 10" } });
    expect(await scene.ask("roots")).toMatchObject({ roots: [{ uri: "file:///s" }] });
  });

  test("every user of the port is asked for itself", async () => {
    const asked: unknown[] = [];
    await using scene = await open({
      onElicitation(_request, { principal }) {
        asked.push(principal);
        return { action: "decline" };
      },
    });
    await scene.ask("name", scene.toolport.as("ada"));
    await scene.ask("name");
    expect(asked).toEqual(["ada", undefined]);
  });
});

test("a capability is advertised only where something here can serve it", async () => {
  await using server = createTestServer({
    era: "legacy",
    tools: {
      ...legacy,
      seen: {
        handler: (_args, { server: sdk }) =>
          Object.keys(sdk.getClientCapabilities() ?? {})
            .sort()
            .join(),
      },
    },
  });
  const seen = async (options: ToolportOptions) => {
    await using toolport = createToolport({ mcpServers: { s: server.memory() }, ...options });
    return (await toolport.callTool("s__seen")).text;
  };
  expect(await seen({})).toBe("");
  expect(await seen({ roots: [] })).toBe("roots");
  expect(
    await seen({ onElicitation: () => ({ action: "decline" }), onSampling: () => Promise.reject() }),
  ).toBe("elicitation,sampling");
  await using toolport = createToolport({ mcpServers: { s: server.memory() } });
  expect(await toolport.callTool("s__name")).toMatchObject({ isError: true });
});

test("log messages reach onLog with their server; without it they go to the logger", async () => {
  await using server = createTestServer({
    era: "legacy",
    capabilities: { logging: {} },
    tools: {
      log: {
        async handler(_args, { server: sdk }) {
          await sdk.sendLoggingMessage({ level: "warning", logger: "db", data: { rows: 2 } });
          return "logged";
        },
      },
    },
  });
  const entries: unknown[] = [];
  await using toolport = createToolport({
    mcpServers: { s: server.memory() },
    onLog: (entry) => entries.push(entry),
  });
  await toolport.callTool("s__log");
  await waitFor(() => entries.length > 0);
  expect(entries).toEqual([{ server: "s", level: "warning", logger: "db", data: { rows: 2 } }]);

  const lines: string[] = [];
  const note = (line: string) => lines.push(line);
  await using logged = createToolport({
    mcpServers: { s: server.memory() },
    logger: { debug: note, info: note, warn: note, error: note },
  });
  await logged.callTool("s__log");
  await waitFor(() => lines.some((line) => line.includes("rows")));
});

test("rootsChanged() is told to those who asked, and they get the new ones", async () => {
  await using server = createTestServer({ era: "legacy", tools: legacy });
  let uri = "file:///one";
  await using toolport = createToolport({ mcpServers: { s: server.memory() }, roots: () => [{ uri }] });
  expect((await toolport.callTool("s__roots")).text).toContain("file:///one");
  uri = "file:///two";
  await toolport.rootsChanged();
  expect((await toolport.callTool("s__roots")).text).toContain("file:///two");
});
