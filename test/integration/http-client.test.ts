/** The SDK's client over our Streamable HTTP transport, against the SDK's server, in both eras. */
import { Client } from "@modelcontextprotocol/client";
import { afterEach, describe, expect, it } from "vitest";
import { RequestChannel } from "../../packages/core/src/protocol/request-channel.js";
import { createHttpTransport } from "../../packages/core/src/transports/http/http-transport.js";
import { createFetchClient } from "../../packages/http/src/wire-client.js";
import { startMcpServer } from "../fixtures/servers/http-mcp.js";
import { createSetup, httpConfig, type Setup } from "../fixtures/servers/http-setup.js";
import { waitFor } from "../support/wait-for.js";

let setup: Setup;
afterEach(() => setup.end());

async function connect(url: string, mode: "legacy" | "auto") {
  const transport = await createHttpTransport(httpConfig(url), {
    http: setup.http,
    maxMessageBytes: 1_000_000,
  });
  const client = new Client({ name: "test", version: "1.0.0" }, { versionNegotiation: { mode } });
  await client.connect(new RequestChannel(transport, "test").sdkTransport);
  return { client, transport };
}

describe.each([
  ["legacy", "auto"],
  ["auto", "auto"],
  ["auto", "sse"],
  ["auto", "json"],
] as const)("era %s, answers %s", (mode, responseMode) => {
  it.each([
    ["node", () => createSetup()],
    ["fetch", () => createSetup(createFetchClient())],
  ])("lists, calls and reports progress over %s", async (_name, create) => {
    setup = create();
    const server = setup.keep(await startMcpServer(responseMode));
    const { client, transport } = await connect(`${server.url}/mcp`, mode);
    expect(client.getProtocolEra()).toBe(mode === "legacy" ? "legacy" : "modern");
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(["echo", "steps"]);
    const answer = await client.callTool({ name: "echo", arguments: { text: "hé🙂" } });
    expect(answer.content).toEqual([{ type: "text", text: "hé🙂" }]);
    const progress: number[] = [];
    await client.callTool(
      { name: "steps", arguments: { text: "done" } },
      { onprogress: (step) => void progress.push(step.progress) },
    );
    if (responseMode !== "json") expect(progress).toEqual([1, 2, 3]);
    expect("pid" in transport).toBe(false);
    expect("stderr" in transport).toBe(false);
    expect(transport.hasPerRequestStream).toBe(true);
    await client.close();
  });
});

it("gives a JSON-RPC error to the call it belongs to", async () => {
  setup = createSetup();
  const server = setup.keep(await startMcpServer());
  const { client } = await connect(`${server.url}/mcp`, "auto");
  await expect(client.request({ method: "prompts/list" })).rejects.toMatchObject({ code: -32601 });
  await client.close();
});

it("leaves no socket after close()", async () => {
  setup = createSetup();
  const server = setup.keep(await startMcpServer());
  const { client } = await connect(`${server.url}/mcp`, "auto");
  await Promise.all(
    Array.from({ length: 20 }, (_, i) => client.callTool({ name: "echo", arguments: { text: String(i) } })),
  );
  await client.close();
  expect(server.sockets.size).toBeGreaterThan(0);
  await setup.http.close();
  await waitFor(() => server.sockets.size === 0, { label: "all sockets to close" });
});
