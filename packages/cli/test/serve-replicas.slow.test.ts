/** Three `toolport serve` behind a balancer without sticky sessions, over Redis and over PostgreSQL; one is killed. */
import { randomBytes } from "node:crypto";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { createTestServer } from "@toolport/testing";
import { expect, test } from "vitest";
import { useProgram } from "../../../test/support/cli-sandbox.js";
import { startBalancer } from "../../../test/support/nginx-service.js";
import { startPostgres, withoutPostgres } from "../../../test/support/postgres-service.js";
import { startRedis, withoutRedis } from "../../../test/support/redis-service.js";
import { startServe, textOf } from "../../../test/support/served-program.js";

const createSandbox = useProgram();
const ROUNDS = 8;

const STORES = [
  { name: "Redis", start: startRedis, isMissing: withoutRedis },
  { name: "PostgreSQL", start: startPostgres, isMissing: withoutPostgres },
] as const;

for (const { name, start, isMissing } of STORES) {
  test.skipIf(isMissing)(`three replicas over ${name} serve on when one is killed`, async () => {
    await using store = await start();
    using sandbox = createSandbox();
    const called: string[] = [];
    await using upstream = createTestServer({
      tools: {
        note: {
          inputSchema: { type: "object", properties: { id: { type: "string" } } },
          handler: ({ id }) => {
            called.push(String(id));
            return `noted ${String(id)}`;
          },
        },
      },
    });
    await sandbox.write("home/.config/toolport/toolport.json", {
      mcpServers: { notes: { url: (await upstream.http()).url } },
    });
    const token = randomBytes(32).toString("base64url");
    const env = {
      TOOLPORT_STORE: store.url,
      TOOLPORT_STORE_KEY: randomBytes(32).toString("base64"),
      TOOLPORT_SERVE_TOKEN: token,
    };
    const replica = () => startServe(sandbox, ["--http", "0"], env);
    await using first = await replica();
    await using second = await replica();
    await using third = await replica();
    const replicas = [first, second, third];
    for (const { stderr } of replicas) expect(stderr()).not.toContain(store.password);
    await using balancer = await startBalancer(replicas.map(({ url }) => Number(new URL(url).port)));

    const clients = await Promise.all(
      (["legacy", { pin: "2026-07-28" }] as const).map(async (mode) => {
        const client = new Client(
          { name: "test-client", version: "1.0.0" },
          { versionNegotiation: { mode } },
        );
        const requestInit = { headers: { authorization: `Bearer ${token}` } };
        await client.connect(
          new StreamableHTTPClientTransport(new URL(`${balancer.url}/mcp`), { requestInit }),
        );
        return client;
      }),
    );
    const ids: string[] = [];
    const call = async (client: Client, id: string) => {
      ids.push(id);
      expect(textOf(await client.callTool({ name: "notes__note", arguments: { id } }))).toBe(`noted ${id}`);
    };
    const rounds = async (label: string) => {
      for (let round = 0; round < ROUNDS; round++)
        await Promise.all(clients.map((client, index) => call(client, `${label}-${round}-${index}`)));
    };
    await rounds("before");
    second.child.kill("SIGKILL");
    await second.ended();
    await rounds("after");
    expect(called.sort()).toEqual(ids.sort());
    await Promise.all(clients.map((client) => client.close()));
  });
}

test.skipIf(withoutRedis)("a shared store without a key stops the start", async () => {
  await using store = await startRedis();
  using sandbox = createSandbox();
  await sandbox.write("home/.config/toolport/toolport.json", {
    mcpServers: { one: { url: "http://127.0.0.1:9/mcp" } },
  });
  const { code, stderr } = await sandbox.run("serve", "--http", "0", "--no-token", "--store", store.url);
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining("TOOLPORT_STORE_KEY") });
  expect(stderr).not.toContain(store.password);
});
