/** Large results through a gateway: cut by the port's `maxResultBytes`, and read on by the same user only, also under a policy. */
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { createTestServer } from "toolport/testing";
import { expect, it } from "vitest";
import { readPolicy } from "../src/policy/read-policy.js";
import { MODERN, openGateway } from "./gateway-scene.js";

const maxResultBytes = { bytes: 1_000, mode: "truncate", read: true } as const;
const rows = JSON.stringify({ rows: Array.from({ length: 1_000 }, (_, id) => ({ id, name: `Row ${id}` })) });

const openServer = () =>
  createTestServer({
    tools: { rows: { handler: () => rows }, secret: { handler: () => rows } },
  });

const textOf = ({ content }: { content: unknown }): string =>
  (content as { text?: string }[]).map(({ text = "" }) => text).join("\n");
const idIn = (text: string): string => /"id":"([\w-]+)"/.exec(text)?.[1] ?? "none";
const read = async (client: Client, args: Record<string, unknown>) =>
  client.callTool({ name: "read_artifact", arguments: args });

it.each(["modern", "legacy"] as const)("a %s client reads on", async (era) => {
  await using server = openServer();
  await using scene = await openGateway({ mcpServers: { s: server.memory() }, maxResultBytes });
  const client = await scene.client(era);
  expect((await client.listTools()).tools.map(({ name }) => name)).toContain("read_artifact");
  const cut = textOf(await client.callTool({ name: "s__rows", arguments: {} }));
  expect(cut).toMatch(/^\[truncated: \d+ of \d+ bytes\. Shape: \{ rows: list of 1000 /);
  const page = await read(client, { id: idIn(cut), from: 999, fields: ["name"] });
  expect(textOf(page)).toBe('Item 999 of 1000 of rows.\n[{"name":"Row 999"}]');
  expect(await read(client, { id: "unknown" })).toMatchObject({ isError: true });
});

it("is not listed without the option, and works for none of the clients", async () => {
  await using server = openServer();
  await using scene = await openGateway({ mcpServers: { s: server.memory() }, maxResultBytes: 1_000 });
  const client = await scene.client("modern");
  expect((await client.listTools()).tools.map(({ name }) => name)).not.toContain("read_artifact");
  expect(textOf(await client.callTool({ name: "s__rows", arguments: {} }))).not.toContain("read_artifact");
});

it("under a policy: own results only", async () => {
  await using server = openServer();
  const policy = await readPolicy({ default: "deny", rules: [{ effect: "allow", tool: "rows" }] });
  let isDenied = false;
  await using scene = await openGateway(
    { mcpServers: { s: server.memory() }, maxResultBytes },
    {
      policy: [policy, ({ tool }) => !(isDenied && tool === "rows")],
      auth: {
        verify: (request) => {
          const principal = request.headers.get("authorization")!.slice("Bearer ".length);
          return { principal, scopes: [] };
        },
      },
    },
  );
  const connect = async (user: string) => {
    const client = new Client({ name: user, version: "1" }, { versionNegotiation: { mode: MODERN } });
    const headers = { authorization: `Bearer ${user}` };
    await client.connect(new StreamableHTTPClientTransport(new URL(scene.url), { requestInit: { headers } }));
    return client;
  };
  const [ada, bob] = await Promise.all([connect("ada"), connect("bob")]);
  try {
    expect((await ada!.listTools()).tools.map(({ name }) => name)).toEqual(["read_artifact", "s__rows"]);
    const id = idIn(textOf(await ada!.callTool({ name: "s__rows", arguments: {} })));
    expect(textOf(await read(ada!, { id, count: 1 }))).toContain("Item 0 of 1000");
    expect(await read(bob!, { id })).toMatchObject({ isError: true });
    const denied = await ada!.callTool({ name: "s__secret", arguments: {} }).catch((error: unknown) => error);
    expect(JSON.stringify(denied)).not.toContain("Row 0");
    // The rest of a result is not read after new rules deny its tool.
    isDenied = true;
    expect(await read(ada!, { id, count: 1 })).toMatchObject({
      isError: true,
      _meta: { "toolport/error": { code: "REFUSED" } },
    });
    isDenied = false;
    expect(textOf(await read(ada!, { id, count: 1 }))).toContain("Item 0 of 1000");
  } finally {
    await Promise.all([ada, bob].map((client) => client!.close()));
  }
});
