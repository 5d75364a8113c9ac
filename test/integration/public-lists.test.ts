/** `cacheScope: "public"` lists are read for one user and used for all; other lists are per user. */
import { createToolport, memoryStore } from "toolport";
import { createTestServer, type TestServerDefinition } from "toolport/testing";
import { afterEach, describe, expect, test, vi } from "vitest";
import { type JsonRpcMethods, startJsonRpcServer } from "../fixtures/servers/http-json-rpc.js";
import { lateServer, nextChange, STREAM } from "../support/late-listening.js";
import { waitFor } from "../support/wait-for.js";

interface Scene {
  /** Null: the server sends no scope. */
  scope?: string | null;
  era?: "legacy" | "modern";
  extra?: JsonRpcMethods;
}

/** Names its tool after the user, so that a list of another user is recognised. */
async function startServer({ scope = "public", era = "modern", extra = {} }: Scene = {}) {
  const server = await startJsonRpcServer(
    {
      "tools/list": ({ headers }) => ({
        tools: [{ name: `of-${headers["x-user"]}`, inputSchema: { type: "object" } }],
        ttlMs: 60_000,
        ...(scope !== null && { cacheScope: scope }),
      }),
      ...extra,
    },
    { era },
  );
  return Object.assign(server, {
    count: (method: string) => server.asked.filter((asked) => asked === method).length,
  });
}

const as = (toolport: ReturnType<typeof createToolport>, user: string) =>
  toolport.as(user, { headers: { "x-user": user } });
const names = async (port: ReturnType<typeof createToolport>) =>
  (await port.tools()).map(({ sourceName }) => sourceName);

afterEach(() => {
  vi.useRealTimers();
});

test("a public list is read once for all users, and again when it expires", async () => {
  await using server = await startServer();
  await using toolport = createToolport({ mcpServers: { s: server.entry } });
  expect(await names(as(toolport, "ada"))).toEqual(["of-ada"]);
  expect(await names(as(toolport, "grace"))).toEqual(["of-ada"]);
  expect(server.count("tools/list")).toBe(1);
  // Both have connected: a known list does not replace the handshake.
  expect(server.count("server/discover")).toBe(2);
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 60_001 });
  expect(await names(as(toolport, "joan"))).toEqual(["of-joan"]);
});

describe("with the server of the SDK", () => {
  const PUBLIC: TestServerDefinition = {
    tools: { one: { handler: () => "" } },
    cacheHints: { "tools/list": { ttlMs: 60_000, cacheScope: "public" } },
  };

  test.each([
    ["modern", 1],
    ["legacy", 3],
  ] as const)("three users of a %s server read its list %i times", async (era, times) => {
    await using late = await lateServer({ ...PUBLIC, era });
    // A list that arrives before the stream is open would be read again.
    late.hold(STREAM[era]);
    await using toolport = createToolport({ mcpServers: { s: { url: late.url } } });
    for (const user of ["ada", "grace", "joan"]) expect(await names(as(toolport, user))).toEqual(["one"]);
    expect(late.count("tools/list")).toBe(times);
  });

  test("a changed list is not shared with the next user", async () => {
    await using server = createTestServer({ ...PUBLIC, era: "modern" });
    const http = await server.http();
    await using toolport = createToolport({ mcpServers: { s: http.entry } });
    const ada = as(toolport, "ada");
    await ada.tools();
    const changed = nextChange(ada);
    await server.update({ tools: { two: { handler: () => "" } } });
    await changed;
    expect(await names(as(toolport, "grace"))).toEqual(["two"]);
  });

  test("a user of a shared list gets the new one when another user reads it", async () => {
    await using late = await lateServer({ ...PUBLIC, era: "modern" });
    late.hold("subscriptions/listen");
    await using toolport = createToolport({ mcpServers: { s: { url: late.url } } });
    const [ada, grace] = [as(toolport, "ada"), as(toolport, "grace")];
    expect(await names(ada)).toEqual(["one"]);
    expect(await names(grace)).toEqual(["one"]);
    expect(late.count("tools/list")).toBe(1);
    await late.server.update({ tools: { two: { handler: () => "" } } });
    const changed = nextChange(grace);
    await ada.refresh("s");
    await changed;
    expect(await names(grace)).toEqual(["two"]);
    expect(late.count("tools/list")).toBe(3);
  });
});

test.each<[string, Scene]>([
  ["private", { scope: "private" }],
  ["without a scope", { scope: null }],
  ["of an unknown scope", { scope: "PUBLIC" }],
  ["public, but of a legacy revision, which has no such field", { era: "legacy" }],
])("a list that is %s is never shared", async (_what, scene) => {
  await using server = await startServer(scene);
  const store = memoryStore();
  {
    await using toolport = createToolport({ mcpServers: { s: server.entry }, store });
    for (const user of ["ada", "grace"]) expect(await names(as(toolport, user))).toEqual([`of-${user}`]);
  }
  await using again = createToolport({ mcpServers: { s: server.entry }, store });
  const joan = as(again, "joan");
  await joan.connect({ servers: [] });
  expect(joan.snapshot().servers["s"]).toMatchObject({ state: "idle", toolCount: 0 });
  expect(await store.list("catalog-public/")).toEqual([]);
});

test("after a restart a new user has the public lists before connecting, and no others", async () => {
  await using server = await startServer({
    extra: {
      "prompts/list": ({ headers }) => ({
        prompts: [{ name: `of-${headers["x-user"]}` }],
        ttlMs: 60_000,
        cacheScope: "private",
      }),
    },
  });
  const store = memoryStore();
  {
    await using toolport = createToolport({ mcpServers: { s: server.entry }, store });
    await as(toolport, "ada").tools();
  }
  // Two names for one URL share the public lists.
  await using again = createToolport({ mcpServers: { t: server.entry }, store });
  const grace = as(again, "grace");
  await grace.connect({ servers: [] });
  expect(grace.snapshot().servers["t"]).toMatchObject({ state: "idle", toolCount: 1 });
  expect(grace.exportCatalog().servers["t"]).toMatchObject({ tools: [{ name: "of-ada" }], prompts: [] });
  expect((await grace.prompts()).map(({ name }) => name)).toEqual(["of-grace"]);
  expect(server.count("tools/list")).toBe(1);
});

test("one private page makes the whole list private", async () => {
  let reads = 0;
  await using server = await startServer({
    extra: {
      "tools/list": ({ params, headers }) => {
        reads += 1;
        const tool = { name: `of-${headers["x-user"]}-${reads}`, inputSchema: { type: "object" } };
        return params["cursor"] === undefined
          ? { tools: [tool], ttlMs: 60_000, cacheScope: "public", nextCursor: "2" }
          : { tools: [tool], ttlMs: 60_000, cacheScope: "private" };
      },
    },
  });
  await using toolport = createToolport({ mcpServers: { s: server.entry } });
  await as(toolport, "ada").tools();
  expect(await names(as(toolport, "grace"))).toEqual(["of-grace-3", "of-grace-4"]);
});

test("a list that becomes private is no longer shared or saved for others", async () => {
  const scene = { cacheScope: "public" };
  await using server = await startServer({
    extra: {
      "tools/list": ({ headers }) => ({
        tools: [{ name: `of-${headers["x-user"]}`, inputSchema: { type: "object" } }],
        ttlMs: 60_000,
        ...scene,
      }),
    },
  });
  const store = memoryStore();
  await using toolport = createToolport({ mcpServers: { s: server.entry }, store });
  const ada = as(toolport, "ada");
  await ada.tools();
  await waitFor(async () =>
    JSON.stringify((await store.get((await store.list("catalog-public/"))[0]!))?.value).includes("of-ada"),
  );
  scene.cacheScope = "private";
  await ada.refresh("s");
  expect(await names(as(toolport, "grace"))).toEqual(["of-grace"]);
  await waitFor(
    async () =>
      !JSON.stringify((await store.get((await store.list("catalog-public/"))[0]!))?.value).includes("of-ada"),
  );
});

test("refresh() and a reconnect read from the server", async () => {
  await using server = await startServer();
  await using toolport = createToolport({ mcpServers: { s: server.entry } });
  const [ada, grace] = [as(toolport, "ada"), as(toolport, "grace")];
  await ada.tools();
  await grace.tools();
  await grace.refresh("s");
  expect(await names(grace)).toEqual(["of-grace"]);
  await ada.disconnect("s");
  await ada.connectServer("s");
  expect(server.count("tools/list")).toBe(3);
});

describe("options of the user", () => {
  test.each([
    ["cache: false", { cache: false as const }],
    ["a shorter time", { cache: { ttlMs: 1 } }],
  ])("%s: the server is asked for everyone", async (_what, options) => {
    await using server = await startServer();
    await using toolport = createToolport({ mcpServers: { s: server.entry }, ...options });
    await as(toolport, "ada").tools();
    await waitFor(async () => (await names(as(toolport, "grace"))).includes("of-grace"));
  });
});
