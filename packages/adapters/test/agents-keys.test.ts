/** The key in the bindings of an agent's Worker: which records are encrypted with it, and the errors without it. */
import { Agent } from "toolport/agents";
import { createTestServer, type TestHttpServer, type TestServer } from "toolport/testing";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from "vitest";
import { openDurableObjectStorage } from "../../../test/contract/durable-object-storage.js";

const KEY = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
const OTHER = "ffeeddccbbaa99887766554433221100ffeeddccbbaa99887766554433221100";

let server: TestServer;
let http: TestHttpServer;
let object: ReturnType<typeof openDurableObjectStorage>;
const agents: Agent[] = [];

beforeAll(async () => {
  server = createTestServer({ tools: { forecast: { handler: () => "fog" } } });
  http = await server.http();
});
afterAll(() => server.close());
beforeEach(() => {
  object = openDurableObjectStorage();
});
afterEach(async () => {
  await Promise.all(agents.splice(0).map(({ mcp }) => mcp.close()));
  object.close();
});

/** Another agent on the storage of the same object. */
async function wake(env?: Record<string, unknown>): Promise<Agent> {
  const agent = new Agent({ id: { toString: () => "0123" }, storage: object.storage }, env);
  agents.push(agent);
  await agent.mcp.restored;
  return agent;
}
const contents = () => JSON.stringify(object.storage.sql.exec("SELECT * FROM toolport_records").toArray());
const url = () => `${http.url}?apiKey=k-4711`;

it.each([
  ["a text", KEY],
  ["a list with the old key behind", `${KEY}, ${OTHER}`],
  ["a binding of the Secrets Store", { get: async () => KEY }],
])("seals what is saved with %s", async (_form, value) => {
  const first = await wake({ TOOLPORT_STORE_KEY: value });
  const { id } = await first.addMcpServer("Weather", url());
  expect(first.mcp.toolport.snapshot().sealed).toBe(true);
  expect(contents()).not.toMatch(new RegExp(`k-4711|${KEY}`));
  const second = await wake({ TOOLPORT_STORE_KEY: value });
  expect(Object.keys(second.getMcpServers().servers)).toEqual([id]);
});

it("stores plain text without a key, and warns", async () => {
  const agent = await wake({});
  await agent.addMcpServer("Weather", url());
  expect(agent.mcp.toolport.snapshot().sealed).toBe(false);
  expect(contents()).toContain("k-4711");
  expect((await wake()).getMcpServers().tools).toHaveLength(1);
});

it("does not warn about plain text if nothing is saved", async () => {
  const agent = new Agent();
  agents.push(agent);
  expect(agent.mcp.toolport.snapshot().sealed).toBeNull();
});

it.each([
  ["missing", {}],
  ["empty", { TOOLPORT_STORE_KEY: " " }],
  ["another one", { TOOLPORT_STORE_KEY: OTHER }],
  ["a number", { TOOLPORT_STORE_KEY: 32 }],
  ["a binding that fails", { TOOLPORT_STORE_KEY: { get: async () => "short" } }],
])("is KEY_MISMATCH when the key is %s: for lists, tools, calls and new servers", async (_what, env) => {
  const first = await wake({ TOOLPORT_STORE_KEY: KEY });
  const { id } = await first.addMcpServer("Weather", url());
  await first.mcp.close();
  const before = contents();
  const second = await wake(env);
  const lost = expect.objectContaining({ code: "KEY_MISMATCH" });
  expect(() => second.getMcpServers()).toThrow(lost);
  expect(() => second.mcp.getAITools()).toThrow(lost);
  await expect(second.addMcpServer("Weather", url())).rejects.toEqual(lost);
  await expect(second.mcp.connectToServer(id)).rejects.toEqual(lost);
  expect(contents()).toBe(before);
  expect((await wake({ TOOLPORT_STORE_KEY: KEY })).getMcpServers().tools).toHaveLength(1);
});

it("fails with KEY_MISMATCH at the first server if the key is unusable, and saves nothing", async () => {
  const agent = await wake({ TOOLPORT_STORE_KEY: "c2hvcnQ=" });
  await expect(agent.addMcpServer("Weather", url())).rejects.toMatchObject({ code: "KEY_MISMATCH" });
  expect(agent.getMcpServers().servers).toEqual({});
  expect(contents()).not.toContain("k-4711");
});
