/** The options of the port answer requests that servers send during a call, in both eras. */
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

/** In the legacy era the server sends requests. */
const legacy: Record<string, TestTool> = {
  name: { handler: async (_args, { server }) => JSON.stringify(await server.elicitInput(question as never)) },
  sample: {
    handler: async (_args, { server }) =>
      JSON.stringify(await server.createMessage({ messages, maxTokens: 10 })),
  },
  roots: { handler: async (_args, { server }) => JSON.stringify(await server.listRoots()) },
};

/** In the modern era the server answers that it needs input, and is called again. */
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

  test("the question to the user names the server and the tool; defaults are filled in", async () => {
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

  test("the server gets a decline of the user", async () => {
    await using scene = await open({ onElicitation: () => ({ action: "decline" }) });
    expect(await scene.ask("name")).toEqual({ action: "decline" });
  });

  test("a question that takes longer than the timeout of the call does not end the call", async () => {
    await using scene = await open({
      timeoutMs: 150,
      onElicitation: async () => {
        await new Promise((resolve) => setTimeout(resolve, 350));
        return { action: "cancel" };
      },
    });
    expect(await scene.ask("name")).toEqual({ action: "cancel" });
  });

  test("an abort of the call cancels the question", async () => {
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

  test("sampling requests reach the model, and roots are listed", async () => {
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

  test("each user of the port answers its own questions", async () => {
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

test("a capability is declared only if an option serves it", async () => {
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
  ).toBe("elicitation,sampling,tasks");
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

test("rootsChanged() notifies the servers that listed roots, and they get the new ones", async () => {
  await using server = createTestServer({ era: "legacy", tools: legacy });
  let uri = "file:///one";
  await using toolport = createToolport({ mcpServers: { s: server.memory() }, roots: () => [{ uri }] });
  expect((await toolport.callTool("s__roots")).text).toContain("file:///one");
  uri = "file:///two";
  await toolport.rootsChanged();
  expect((await toolport.callTool("s__roots")).text).toContain("file:///two");
});
