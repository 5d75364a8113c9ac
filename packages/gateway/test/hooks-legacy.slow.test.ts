/** Requests that are passed on to a legacy server: its questions reach the client whose call asks, and no other one. */
import { EventEmitter, once } from "node:events";
import { inputRequired, ProtocolError, type Server, type ServerContext } from "@modelcontextprotocol/server";
import { createTestServer, type TestTool } from "toolport/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import { waitFor } from "../../../test/support/wait-for.js";
import { ALL_CAPABILITIES, callFor, createTestCaller, createTestPort, type TestCaller } from "./hooks-rig.js";

const question = (message: string) => ({
  message,
  requestedSchema: { type: "object" as const, properties: { name: { type: "string" as const } } },
});

/** Asks on the stream of the call. */
const askBound = (request: ServerContext, message: string): Promise<unknown> =>
  request.mcpReq.send({ method: "elicitation/create", params: question(message) }) as Promise<unknown>;

/** The server's side of a test: which connections were used, and how many calls ran at once. */
function createScene() {
  let running = 0;
  const seen = {
    most: 0,
    sessions: new Set<unknown>(),
    capabilities: [] as unknown[],
    refusals: [] as unknown[],
  };
  const counted =
    (handler: TestTool["handler"]): TestTool["handler"] =>
    async (args, context) => {
      running += 1;
      seen.most = Math.max(seen.most, running);
      seen.sessions.add(context.server);
      seen.capabilities.push(context.server.getClientCapabilities());
      try {
        return await handler(args, context);
      } finally {
        running -= 1;
      }
    };
  const tools: Record<string, TestTool> = {
    ask: {
      handler: counted(async ({ who }, { request }) => JSON.stringify(await askBound(request, `for ${who}`))),
    },
    shim: {
      handler: counted(async ({ who }, { request }) => {
        const { inputResponses } = request.mcpReq;
        if (inputResponses !== undefined) return JSON.stringify(inputResponses["who"]);
        return inputRequired({ inputRequests: { who: inputRequired.elicit(question(`for ${who}`)) } });
      }),
    },
    // The SDK's own method does not name the call: over HTTP the question arrives on the listening stream.
    unbound: {
      handler: counted(async ({ who }, { server }) =>
        JSON.stringify(await server.elicitInput(question(`for ${who}`))),
      ),
    },
    sample: {
      handler: counted(async (_args, { server }) => {
        const messages = [{ role: "user" as const, content: { type: "text" as const, text: "?" } }];
        return JSON.stringify(await server.createMessage({ messages, maxTokens: 3 }));
      }),
    },
    roots: { handler: counted(async (_args, { server }) => JSON.stringify(await server.listRoots())) },
    plain: { handler: counted(async () => "plain") },
    fails: {
      handler() {
        const data = {
          elicitations: [{ mode: "url", elicitationId: "1", url: "https://a.example/", message: "m" }],
        };
        throw new ProtocolError(-32042, "Open the page first", data);
      },
    },
    flood: {
      handler: counted(async ({ count }, { request }) => {
        const one = () =>
          askBound(request, "again").then(
            () => "answered",
            ({ code }: { code?: number }) => {
              seen.refusals.push(code);
              return String(code);
            },
          );
        return JSON.stringify(await Promise.all(Array.from({ length: Number(count) }, one)));
      }),
    },
  };
  const server = createTestServer({ era: "legacy", tools, capabilities: { logging: {} } });
  onTestFinished(() => server.close());
  return { server, seen };
}

const capable = (name: string, more: Partial<TestCaller> = {}) =>
  createTestCaller({ name, capabilities: ALL_CAPABILITIES, ...more });

const textOf = (caller: TestCaller): string => (caller.raw!["content"] as [{ text: string }])[0].text;

const nameIn = (caller: TestCaller): unknown => JSON.parse(textOf(caller)).content?.name;

async function openOver(transport: "stdio" | "http" | "sse" | "webSocket") {
  const { server, seen } = createScene();
  const port = createTestPort({ up: (await server[transport]()).entry });
  return { port, seen };
}

test.each([
  ["http", "ask"],
  ["http", "shim"],
  ["stdio", "ask"],
  ["sse", "ask"],
  ["webSocket", "ask"],
] as const)(
  "asks each of several concurrent clients only its own question: over %s, %s",
  async (transport, tool) => {
    const { port, seen } = await openOver(transport);
    const names = ["a", "b", "c", "d"];
    const callers = names.map((name) => capable(name));
    await Promise.all(
      callers.map((caller, index) => callFor(port, { tool, args: { who: names[index] } }, caller)),
    );
    expect(callers.map(nameIn)).toEqual(names);
    expect(callers.map(({ questions }) => questions.map(({ params }) => params?.["message"]))).toEqual(
      names.map((name) => [`for ${name}`]),
    );
    expect(seen.sessions.size).toBe(1);
    expect(seen.capabilities[0]).toMatchObject(ALL_CAPABILITIES);
    if (transport !== "http") expect(seen.most).toBe(1);
  },
);

describe.each(["stdio", "http"] as const)("over %s", (transport) => {
  const open = () => openOver(transport);

  test("answers sampling and roots, and questions that do not name their call", async () => {
    const { port } = await open();
    const caller = () => capable("Ada");
    const callers = { unbound: caller(), sample: caller(), roots: caller() };
    for (const [tool, each] of Object.entries(callers)) await callFor(port, { tool }, each);
    expect(nameIn(callers.unbound)).toBe("Ada");
    expect(textOf(callers.sample)).toContain('"model":"Ada"');
    expect(textOf(callers.roots)).toContain("file:///Ada");
  });

  test("uses the ordinary connection for clients without capabilities", async () => {
    const { port, seen } = await open();
    await callFor(port, { tool: "plain" }, createTestCaller());
    expect((await port.variants()).size).toBe(0);
    await callFor(port, { tool: "plain" }, capable("a"));
    await callFor(port, { tool: "plain" }, createTestCaller({ capabilities: { roots: {} } }));
    expect((await port.variants()).size).toBe(2);
    expect(seen.capabilities.map((each) => Object.keys(each as object))).toEqual([
      [],
      expect.arrayContaining(Object.keys(ALL_CAPABILITIES)),
      ["roots"],
    ]);
  });

  test("refuses a question that belongs to no call", async () => {
    const { port, seen } = await open();
    const caller = capable("a");
    await callFor(port, { tool: "plain" }, caller);
    const [server] = [...seen.sessions] as [Server];
    await expect(server.elicitInput(question("late"))).rejects.toMatchObject({ code: -32602 });
    expect(caller.questions).toEqual([]);
  });

  test("passes the error of a page that must be opened first", async () => {
    const { port } = await open();
    const failure = await callFor(port, { tool: "fails" }, capable("a")).catch((error: unknown) => error);
    expect(failure).toMatchObject({
      rpcCode: -32042,
      rpcMessage: "Open the page first",
      data: { elicitations: [{ elicitationId: "1" }] },
    });
  });

  test("lets at most 16 questions of a call wait", async () => {
    const { port, seen } = await open();
    let release = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const caller = capable("a", {
      async answer() {
        await released;
        return { action: "cancel" };
      },
    });
    const calling = callFor(port, { tool: "flood", args: { count: 40 } }, caller);
    await waitFor(() => seen.refusals.length === 24);
    release();
    await calling;
    const outcomes = JSON.parse(textOf(caller)) as string[];
    expect(outcomes.filter((each) => each === "answered")).toHaveLength(16);
    expect(new Set(seen.refusals)).toEqual(new Set([-32603]));
  });

  test("withdraws the question of a call that its client aborts, and lets the next call in", async () => {
    const { port } = await open();
    const asked = new EventEmitter();
    const aborted = capable("a", {
      answer: (_question, signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => reject(signal.reason));
          asked.emit("question", signal);
        }),
    });
    const controller = new AbortController();
    const question = once(asked, "question");
    const calling = callFor(port, { tool: "ask" }, aborted, { signal: controller.signal });
    const [signal] = (await question) as [AbortSignal];
    const next = capable("b");
    const waiting = callFor(port, { tool: "ask" }, next);
    controller.abort(new Error("enough"));
    await expect(calling).rejects.toThrow("enough");
    expect(signal.aborted).toBe(true);
    await waiting;
    expect(nameIn(next)).toBe("b");
  });
});
