/** Questions that a legacy client never answers: `questionTimeoutMs` limits the wait, and the client learns that its dialog is void. */
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { createToolport } from "toolport";
import { createGateway, readPolicy } from "toolport/serve";
import { createTestServer } from "toolport/testing";
import { describe, expect, test } from "vitest";

describe.each(["memory", "http"] as const)("over %s", (transport) => {
  async function open() {
    const calls: string[] = [];
    const server = createTestServer({
      era: "legacy",
      tools: {
        write: {
          handler() {
            calls.push("write");
            return "written";
          },
        },
        ask: {
          async handler(_args, { request }) {
            calls.push("ask");
            const asked = { message: "Which seat?", requestedSchema: { type: "object", properties: {} } };
            return request.mcpReq.send({ method: "elicitation/create", params: asked } as never).then(
              () => "answered",
              (error: Error) => `no answer: ${error.message}`,
            );
          },
        },
      },
    });
    const toolport = createToolport({ mcpServers: { files: server.memory() } });
    const policy = await readPolicy({ default: "allow", rules: [{ effect: "approve", tool: "write" }] });
    const gateway = createGateway(toolport, { auth: false, policy, questionTimeoutMs: 50 });
    const client = new Client(
      { name: "test-client", version: "1.0.0" },
      { versionNegotiation: { mode: "legacy" }, capabilities: { elicitation: { form: {} } } },
    );
    const withdrawn: string[] = [];
    client.setRequestHandler(
      "elicitation/create",
      ({ params }, { mcpReq: { signal } }) =>
        new Promise((_, reject) => {
          signal.addEventListener("abort", () => {
            withdrawn.push(params.message.split("\n")[0]!);
            reject(signal.reason);
          });
        }),
    );
    const http = new StreamableHTTPClientTransport(new URL("http://localhost/mcp"), {
      fetch: (input, init) => gateway.fetch(new Request(input, init)),
    });
    await client.connect(transport === "memory" ? gateway.memory() : http);
    return {
      calls,
      withdrawn,
      client,
      async [Symbol.asyncDispose]() {
        await client.close();
        await gateway.close();
        await toolport.close();
        await server.close();
      },
    };
  }

  test("an approval: the call is refused, and never sent", async () => {
    await using scene = await open();
    const result = await scene.client.callTool({ name: "files__write", arguments: {} });
    expect(result).toMatchObject({
      isError: true,
      _meta: { "toolport/error": { code: "REFUSED", outcome: "unsent" } },
    });
    expect(scene.calls).toEqual([]);
    expect(scene.withdrawn).toEqual([expect.stringContaining("Allow files__write")]);
  });

  test("a question of a server: the server gets an error", async () => {
    await using scene = await open();
    const { content } = await scene.client.callTool({ name: "files__ask", arguments: {} });
    expect(content).toEqual([{ type: "text", text: expect.stringContaining("did not answer in time") }]);
    expect(scene.withdrawn).toEqual(["Which seat?"]);
  });
});
