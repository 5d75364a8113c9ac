/** The test server with the real SDK client, over every transport. */
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { Client, StreamableHTTPClientTransport, type Transport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { takeLeakSnapshot, waitFor, waitForNoLeaks } from "../../../test/support/leaks.js";
import { createTestServer, type TestServer, type TestServerDefinition, type TestTool } from "./index.js";

const DEFINITION = {
  name: "sample",
  version: "2.0.0",
  instructions: "Be kind",
  tools: {
    greet: {
      title: "Greet",
      description: "Says hello",
      inputSchema: {
        type: "object",
        properties: { name: { type: "string" } },
        required: ["name"],
        "x-mine": { kept: [1, null] },
      },
      annotations: { readOnlyHint: true },
      handler: ({ name }) => `Hello ${name}`,
    },
    add: {
      inputSchema: z.object({ a: z.number(), b: z.number().default(40) }),
      outputSchema: z.object({ sum: z.number() }),
      handler: ({ a, b }: { a: number; b: number }) => ({ structuredContent: { sum: a + b } }),
    },
    fail: {
      handler: () => {
        throw new Error("It broke");
      },
    },
    wait: {
      handler: (_args, { signal }) =>
        new Promise((resolve) => signal.addEventListener("abort", () => resolve("aborted"), { once: true })),
    },
  },
  resources: {
    "memo://text": { name: "text", mimeType: "text/plain", text: "a memo" },
    "memo://bytes": { read: () => new Uint8Array([1, 2, 3]) },
  },
  prompts: {
    ask: {
      description: "Asks",
      arguments: [{ name: "topic", required: true }],
      get: ({ topic }) => `About ${topic}?`,
    },
  },
} satisfies TestServerDefinition;

interface Way {
  readonly name: string;
  open(server: TestServer): Promise<Transport>;
}

const ways: Way[] = [
  { name: "memory", open: async (server) => server.memory().transport() as Promise<Transport> },
  {
    name: "http",
    open: async (server) => new StreamableHTTPClientTransport(new URL((await server.http()).url)),
  },
  {
    name: "stdio",
    open: async (server) => {
      const { command, args } = await server.stdio();
      return new StdioClientTransport({ command, args: [...args] });
    },
  },
];

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const thing of open.splice(0).reverse()) await thing.close();
});

function make(definition: TestServerDefinition = DEFINITION): TestServer {
  const server = createTestServer(definition);
  open.push(server);
  return server;
}

async function connect(transport: Transport, mode: "auto" | "legacy" = "auto"): Promise<Client> {
  const client = new Client(
    { name: "test", version: "1.0.0" },
    { versionNegotiation: { mode, probe: { timeoutMs: 5_000 } } },
  );
  open.push(client);
  await client.connect(transport);
  return client;
}

for (const way of ways) {
  describe.each(["legacy", "modern"] as const)(`createTestServer over ${way.name}, %s era`, (era) => {
    const mode = era === "modern" ? "auto" : "legacy";

    it("serves tools, resources and prompts", async () => {
      const server = make();
      const client = await connect(await way.open(server), mode);
      expect(client.getProtocolEra()).toBe(era);
      expect(client.getServerVersion()).toMatchObject({ name: "sample", version: "2.0.0" });
      expect(client.getInstructions()).toBe("Be kind");

      const { tools } = await client.listTools();
      expect(tools.find(({ name }) => name === "greet")).toMatchObject({
        title: "Greet",
        annotations: { readOnlyHint: true },
        inputSchema: DEFINITION.tools.greet.inputSchema,
      });
      expect(tools.find(({ name }) => name === "add")?.outputSchema).toMatchObject({ required: ["sum"] });

      const greeting = await client.callTool({ name: "greet", arguments: { name: "Ada" } });
      expect(greeting.content).toEqual([{ type: "text", text: "Hello Ada" }]);
      const sum = await client.callTool({ name: "add", arguments: { a: 2 } });
      expect(sum).toMatchObject({ structuredContent: { sum: 42 }, content: [{ text: '{"sum":42}' }] });
      const wrong = await client.callTool({ name: "add", arguments: { a: "2" } });
      expect(wrong).toMatchObject({ isError: true, content: [{ text: expect.stringContaining("a:") }] });
      const failure = await client.callTool({ name: "fail" });
      expect(failure).toMatchObject({ isError: true, content: [{ text: "It broke" }] });
      await expect(client.callTool({ name: "nope" })).rejects.toMatchObject({ code: -32602 });
      expect(server.calls.map(({ name }) => name)).toEqual(["greet", "add", "add", "fail", "nope"]);
      expect(server.calls[0]?.args).toEqual({ name: "Ada" });

      const { resources } = await client.listResources();
      expect(resources).toMatchObject([
        { uri: "memo://text", name: "text" },
        { uri: "memo://bytes", name: "memo://bytes" },
      ]);
      expect((await client.readResource({ uri: "memo://text" })).contents).toMatchObject([
        { text: "a memo" },
      ]);
      expect((await client.readResource({ uri: "memo://bytes" })).contents).toMatchObject([{ blob: "AQID" }]);

      const { prompts } = await client.listPrompts();
      expect(prompts).toMatchObject([{ name: "ask", arguments: [{ name: "topic", required: true }] }]);
      const { messages } = await client.getPrompt({ name: "ask", arguments: { topic: "tea" } });
      expect(messages).toEqual([{ role: "user", content: { type: "text", text: "About tea?" } }]);
    });

    it("reports progress and aborts on cancellation", async () => {
      const arrived = deferred();
      const count: TestTool = {
        handler: async (_args, { progress }) => {
          await progress(1, 2, "half");
          await progress(2, 2);
          // The SDK's client drops progress that arrives in one chunk with the response.
          await arrived.promise;
          return [{ type: "text", text: "done" }];
        },
      };
      const server = make({ tools: { ...DEFINITION.tools, count } });
      const client = await connect(await way.open(server), mode);
      const seen: unknown[] = [];
      const onprogress = (progress: unknown) => {
        if (seen.push(progress) === 2) arrived.resolve(undefined);
      };
      await client.callTool({ name: "count" }, { onprogress });
      expect(seen).toMatchObject([{ progress: 1, total: 2, message: "half" }, { progress: 2 }]);

      const abort = new AbortController();
      const call = client.callTool({ name: "wait" }, { signal: abort.signal });
      await waitFor(() => server.calls.some(({ name }) => name === "wait"));
      abort.abort();
      await expect(call).rejects.toThrow();
    });

    it("notifies connected clients of a change", async () => {
      const server = make();
      const changed = deferred();
      const client = new Client(
        { name: "test", version: "1.0.0" },
        {
          versionNegotiation: { mode },
          listChanged: {
            tools: {
              debounceMs: 0,
              onChanged: (_error, tools) => changed.resolve(tools?.map(({ name }) => name)),
            },
          },
        },
      );
      open.push(client);
      await client.connect(await way.open(server));
      await client.listTools();
      // Over HTTP the notification stream opens after connect() has returned.
      const timer = setInterval(() => void server.update({ tools: { other: { handler: () => "" } } }), 50);
      await expect(changed.promise.finally(() => clearInterval(timer))).resolves.toEqual(["other"]);
    });
  });
}

function deferred() {
  let resolve: (value: unknown) => void = () => {};
  const promise = new Promise((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

describe("createTestServer", () => {
  it.each(["legacy", "modern"] satisfies TestServerDefinition["era"][])(
    "serves only the %s era when asked to",
    async (era) => {
      const server = make({ ...DEFINITION, era });
      for (const way of ways) {
        expect((await connect(await way.open(server))).getProtocolEra()).toBe(era);
      }
      if (era === "modern") {
        await expect(connect(await (ways[0] as Way).open(server), "legacy")).rejects.toThrow();
      }
    },
  );

  it("lists sessions and deletes them on demand", async () => {
    const server = make();
    const http = await server.http({ path: "/other" });
    const client = await connect(new StreamableHTTPClientTransport(new URL(http.url)), "legacy");
    expect(http.sessionIds).toHaveLength(1);
    expect(http.requestCount).toBeGreaterThan(1);
    await http.forgetSessions();
    expect(http.sessionIds).toEqual([]);
    await expect(client.callTool({ name: "greet", arguments: { name: "Ada" } })).rejects.toMatchObject({
      status: 404,
    });
  });

  it("serves the legacy era without sessions", async () => {
    const http = await make().http({ sessions: false });
    const client = await connect(new StreamableHTTPClientTransport(new URL(http.url)), "legacy");
    expect(http.sessionIds).toEqual([]);
    await expect(client.callTool({ name: "greet", arguments: { name: "Ada" } })).resolves.toMatchObject({
      content: [{ text: "Hello Ada" }],
    });
  });

  it("intercept() can replace responses, and other hosts and paths are rejected", async () => {
    let down = true;
    const http = await make().http({
      intercept: () => (down ? new Response("down", { status: 503 }) : undefined),
    });
    expect((await fetch(http.url)).status).toBe(503);
    down = false;
    expect((await fetch(http.url)).status).not.toBe(503);
    expect((await fetch(`${http.url}/else`)).status).toBe(404);
    const foreign = request(http.url, { headers: { host: "example.com" } }).end();
    const [answer] = (await once(foreign, "response")) as [IncomingMessage];
    answer.resume();
    expect(answer.statusCode).toBe(403);
  });

  it("sends resource updates to subscribers", async () => {
    const server = make();
    const client = await connect((await server.memory().transport()) as Transport, "legacy");
    const received = deferred();
    client.setNotificationHandler("notifications/resources/updated", ({ params }) =>
      received.resolve(params.uri),
    );
    await client.subscribeResource({ uri: "memo://text" });
    await server.resourceUpdated("memo://bytes");
    await server.resourceUpdated("memo://text");
    await expect(received.promise).resolves.toBe("memo://text");
  });

  it("close() leaves no resources open", async () => {
    const before = takeLeakSnapshot();
    {
      await using server = createTestServer(DEFINITION);
      for (const way of ways) {
        const client = await connect(await way.open(server));
        await client.callTool({ name: "greet", arguments: { name: "Ada" } });
      }
    }
    for (const thing of open.splice(0)) await thing.close();
    await waitForNoLeaks(before);
  });
});
