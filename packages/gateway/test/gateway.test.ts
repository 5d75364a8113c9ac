/** A gateway in front of real servers: lists, calls, resources, prompts and questions, in all four pairs of eras. */
import { inputRequired } from "@modelcontextprotocol/server";
import { memoryStore, StateError, type Store } from "toolport";
import { createTestServer, type TestToolContext } from "toolport/testing";
import { describe, expect, test } from "vitest";
import { openGateway } from "./gateway-scene.js";

const ERAS = ["modern", "legacy"] as const;

const everything = (era: "modern" | "legacy") =>
  createTestServer({
    era,
    tools: {
      echo: {
        description: "Returns its text",
        inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
        handler: ({ text }: { text: string }) => ({
          content: [{ type: "text", text: `echo ${text}`, "x-unknown": 1 } as never],
          structuredContent: { text },
          _meta: { "example.com/kept": true },
        }),
      },
      book: {
        inputSchema: { type: "object", properties: { to: { type: "string" } } },
        handler({ to }: { to: string }, { request }: TestToolContext) {
          const { seat } = (request.mcpReq.inputResponses ?? {}) as Record<
            string,
            { content?: { seat?: string } }
          >;
          if (seat === undefined)
            return inputRequired({
              inputRequests: {
                seat: inputRequired.elicit({
                  message: "Which seat?",
                  requestedSchema: { type: "object", properties: { seat: { type: "string" } } },
                } as never),
              },
              requestState: `state of ${to}`,
            });
          return `booked ${to} ${seat.content?.seat}`;
        },
      },
    },
    resources: { "test://a": { name: "a", text: "content of a" } },
    prompts: { greet: { description: "Greets", handler: () => "Hello" } },
  } as never);

describe.each(ERAS)("%s clients", (client) => {
  describe.each(ERAS)("of %s servers", (era) => {
    test("list and call tools, read resources and get prompts, and nothing is lost", async () => {
      await using upstream = everything(era);
      const { url } = await upstream.http();
      await using scene = await openGateway({ mcpServers: { one: { url } } });
      const sdk = await scene.client(client);
      const { tools } = await sdk.listTools();
      expect(tools.map(({ name }) => name)).toEqual(["one__book", "one__echo"]);
      const result = await sdk.callTool({ name: "one__echo", arguments: { text: "hi" } });
      expect(result).toMatchObject({
        content: [{ type: "text", text: "echo hi" }],
        structuredContent: { text: "hi" },
        _meta: { "example.com/kept": true },
      });
    });

    test("answer a question of the server", async () => {
      await using upstream = everything(era);
      const { url } = await upstream.http();
      await using scene = await openGateway({ mcpServers: { one: { url } } });
      const sdk = await scene.client(client, { capabilities: { elicitation: { form: {} } } });
      sdk.setRequestHandler("elicitation/create", async () => ({
        action: "accept",
        content: { seat: "12A" },
      }));
      const result = await sdk.callTool({ name: "one__book", arguments: { to: "Oslo" } });
      expect(result).toMatchObject({ content: [{ type: "text", text: "booked Oslo 12A" }] });
    });
  });
});

test("a filter sees the whole tool, in lists and in calls", async () => {
  await using upstream = createTestServer({
    tools: {
      look: { annotations: { readOnlyHint: true }, handler: () => "seen" },
      change: { handler: () => "changed" },
    },
  });
  const filter = (_server: unknown, tool: { annotations?: { readOnlyHint?: boolean } | undefined }) =>
    tool.annotations?.readOnlyHint === true;
  await using scene = await openGateway(
    { mcpServers: { one: upstream.memory() } },
    { auth: false, filter: filter as never },
  );
  const client = await scene.client("modern");
  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name)).toEqual(["one__look"]);
  await expect(client.callTool({ name: "one__change", arguments: {} })).rejects.toMatchObject({
    code: -32602,
  });
  expect(upstream.calls).toEqual([]);
});

test("the end of a session that the store cannot save is a 503; the session has ended here, and is saved later", async () => {
  await using upstream = createTestServer({ tools: { look: { handler: () => "seen" } } });
  const saved = memoryStore();
  let isAway = false;
  const writes: string[] = [];
  const store: Store = Object.assign(Object.create(saved), {
    async put(...args: Parameters<Store["put"]>) {
      if (isAway) throw new StateError({ code: "UNAVAILABLE", what: "The store is away", next: "Wait" });
      writes.push(args[0]);
      return saved.put(...args);
    },
  });
  await using scene = await openGateway({ mcpServers: { one: upstream.memory() }, store });
  const initialize = {
    method: "initialize",
    params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1" } },
  };
  const send = (method: string, session?: string, message?: object) =>
    fetch(scene.url, {
      method,
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        ...(session !== undefined && { "mcp-session-id": session }),
      },
      ...(message && { body: JSON.stringify({ jsonrpc: "2.0", id: 1, ...message }) }),
    });
  const session = (await send("POST", undefined, initialize)).headers.get("mcp-session-id")!;
  isAway = true;
  const ended = await send("DELETE", session);
  expect(ended.status).toBe(503);
  expect(ended.headers.get("retry-after")).toBe("1");
  expect(await ended.json()).toMatchObject({ error: { data: { code: "UNAVAILABLE", retryable: true } } });
  expect((await send("POST", session, { method: "tools/list" })).status).toBe(404);
  isAway = false;
  writes.length = 0;
  await expect.poll(() => writes.length).toBeGreaterThan(0);
});
