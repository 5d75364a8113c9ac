/** Requests that are passed on to a modern server: results and questions as they are, with the capabilities of the client. */
import { inputRequired, ProtocolError } from "@modelcontextprotocol/server";
import { sendRequest } from "@toolport/core/internal";
import { cacheResults, ToolCallError } from "toolport";
import { createTestServer, type TestTool } from "toolport/testing";
import { describe, expect, test } from "vitest";
import { ALL_CAPABILITIES, callFor, createTestCaller, createTestPort } from "./hooks-rig.js";

const form = (message: string) =>
  inputRequired.elicit({
    message,
    requestedSchema: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
  });

const tools: Record<string, TestTool> = {
  plain: {
    handler: () => ({
      content: [{ type: "text", text: "hi", extra: 1 }] as never,
      _meta: { "example/own": { deep: [1] } },
      unknownField: { kept: true },
    }),
  },
  ask: {
    inputSchema: { type: "object", properties: { count: { type: "integer" } } },
    outputSchema: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
    handler(args, { request }) {
      const { inputResponses } = request.mcpReq;
      if (inputResponses === undefined)
        return inputRequired({
          inputRequests: { who: form("Who?") },
          requestState: `state ${JSON.stringify(args)}`,
        });
      const { content } = inputResponses["who"] as unknown as { content: { name: string } };
      const text = `${content.name}, ${request.mcpReq.requestState()}, ${JSON.stringify(args)}`;
      return { content: [{ type: "text", text }], structuredContent: { name: content.name } };
    },
  },
  sample: {
    handler: () =>
      inputRequired({
        inputRequests: {
          model: inputRequired.createMessage({
            messages: [{ role: "user", content: { type: "text", text: "?" } }],
            maxTokens: 5,
          }),
        },
      }),
  },
  envelope: { handler: (_args, { request }) => JSON.stringify(request.mcpReq.envelope ?? {}) },
  fails: {
    handler() {
      throw new ProtocolError(-32077, "Own text of the server.", { why: "x" });
    },
  },
};

const server = () =>
  createTestServer({
    era: "modern",
    tools,
    resources: {
      "test://a": { read: () => ({ contents: [{ uri: "test://a", text: "A" }], other: 1 }) as never },
    },
  } as never);

describe.each(["memory", "http"] as const)("over %s", (transport) => {
  async function open(options: Parameters<typeof createTestPort>[1] = {}) {
    const made = server();
    return createTestPort(
      { up: transport === "memory" ? made.memory() : (await made.http()).entry },
      options,
    );
  }

  test("returns the result as the server sent it", async () => {
    const port = await open();
    const caller = createTestCaller();
    const result = await callFor(port, { tool: "plain" }, caller);
    expect(caller.raw).toMatchObject({
      content: [{ type: "text", text: "hi" }],
      _meta: { "example/own": { deep: [1] } },
      unknownField: { kept: true },
    });
    expect(caller.raw).not.toHaveProperty("resultType");
    expect(caller.server).toBe("up");
    expect(caller.result?.content).toBe(result.content);
  });

  test("declares the capabilities of the client, and nothing else", async () => {
    const port = await open({ onElicitation: () => ({ action: "decline" }), extensions: { "x/y": {} } });
    const capabilities = { sampling: {}, experimental: { odd: { a: 1 } } };
    const sent = async (caller: ReturnType<typeof createTestCaller>) =>
      JSON.parse((await callFor(port, { tool: "envelope" }, caller)).text);
    const declared = await sent(createTestCaller({ capabilities }));
    expect(declared["io.modelcontextprotocol/clientCapabilities"]).toEqual(capabilities);
    expect(declared["io.modelcontextprotocol/clientInfo"]).toMatchObject({ name: "toolport" });
    expect(declared).not.toHaveProperty("io.modelcontextprotocol/logLevel");
    const none = await sent(createTestCaller({ logLevel: "error" }));
    expect(none["io.modelcontextprotocol/clientCapabilities"]).toEqual({});
    expect(none["io.modelcontextprotocol/logLevel"]).toBe("error");
  });

  test("returns a question unanswered and continues with the answers of the client", async () => {
    const port = await open({ maxResultBytes: 10 });
    const caller = createTestCaller({ capabilities: ALL_CAPABILITIES, passesInput: true });
    const args = { count: "3" };
    await callFor(port, { tool: "ask", args }, caller);
    expect(caller.isInputRequired).toBe(true);
    expect(caller.raw).toMatchObject({
      resultType: "input_required",
      requestState: 'state {"count":3}',
      inputRequests: { who: { method: "elicitation/create", params: { message: "Who?" } } },
    });
    expect(caller.questions).toEqual([]);
    const next = createTestCaller({
      capabilities: ALL_CAPABILITIES,
      passesInput: true,
      requestState: caller.raw!["requestState"] as string,
      inputResponses: { who: { action: "accept", content: { name: "Ada" } } },
    });
    await callFor(port, { tool: "ask", args }, next);
    expect(next.isInputRequired).toBe(false);
    // The repaired arguments are the same in both rounds.
    expect(next.raw?.["content"]).toEqual([{ type: "text", text: 'Ada, state {"count":3}, {"count":3}' }]);
    expect(next.raw?.["_meta"]).not.toHaveProperty("toolport/input");
  });

  test("asks the client itself when it cannot answer in rounds", async () => {
    const port = await open();
    const caller = createTestCaller({ name: "Eva", capabilities: ALL_CAPABILITIES });
    await callFor(port, { tool: "ask" }, caller);
    expect(caller.raw?.["structuredContent"]).toEqual({ name: "Eva" });
    expect(caller.raw?.["_meta"] ?? {}).not.toHaveProperty("toolport/input");
    expect(caller.questions).toMatchObject([{ method: "elicitation/create", params: { message: "Who?" } }]);
  });

  test("never caches a question, and does not share it between clients", async () => {
    const port = await open({ interceptors: [cacheResults({ tools: ["*"], ttlMs: 60_000 })] });
    const callers = Array.from({ length: 3 }, () =>
      createTestCaller({ capabilities: ALL_CAPABILITIES, passesInput: true }),
    );
    await callFor(port, { tool: "ask" }, callers[0]!);
    await Promise.all(callers.slice(1).map((caller) => callFor(port, { tool: "ask" }, caller)));
    expect(callers.map(({ isInputRequired }) => isInputRequired)).toEqual([true, true, true]);
  });

  test("never asks a client for what it did not declare", async () => {
    const port = await open();
    for (const passesInput of [false, true]) {
      const caller = createTestCaller({ capabilities: { roots: {} }, passesInput });
      await expect(callFor(port, { tool: "sample" }, caller)).rejects.toBeInstanceOf(ToolCallError);
      expect(caller.questions).toEqual([]);
      expect(caller.raw).toBeUndefined();
    }
  });

  test("keeps code, message and data of an error", async () => {
    const port = await open();
    const failure = await callFor(port, { tool: "fails" }, createTestCaller()).catch((e: unknown) => e);
    expect(failure).toMatchObject({
      code: "PROTOCOL",
      rpcCode: -32077,
      rpcMessage: "Own text of the server.",
      data: { why: "x" },
    });
  });

  test("passes other requests on with all fields, and reports them to listeners", async () => {
    const seen: unknown[] = [];
    const port = await open();
    port.parts.emitter.on("call", (event) => void seen.push(event));
    const request = { server: "up", method: "resources/read", params: { uri: "test://a" }, uri: "test://a" };
    const result = await sendRequest(port, request, { hooks: createTestCaller() });
    expect(result).toMatchObject({ contents: [{ uri: "test://a", text: "A" }] });
    const missing = { ...request, params: { uri: "test://none" }, uri: "test://none" };
    await expect(sendRequest(port, missing, { hooks: createTestCaller() })).rejects.toMatchObject({
      rpcMessage: expect.any(String),
    });
    expect(seen).toMatchObject([
      { phase: "start", kind: "resource", server: "up", uri: "test://a" },
      { phase: "end", uri: "test://a" },
      { phase: "start", uri: "test://none" },
      { phase: "end", uri: "test://none" },
    ]);
  });
});
