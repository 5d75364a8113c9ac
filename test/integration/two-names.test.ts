/** Two names for one URL are two servers: two logins, two lists, two sets of pins. */
import { createToolport, memoryStore, type Store } from "toolport";
import { describe, expect, test } from "vitest";
import { startJsonRpcServer } from "../fixtures/servers/http-json-rpc.js";
import { failure } from "../support/failure.js";
import { startOAuthBench } from "../support/oauth-bench.js";
import { logIn } from "../support/oauth-browser.js";
import { useServer } from "../support/use-server.js";

const CALLBACK = "http://127.0.0.1:4545/oauth/callback";

/** A server that offers more tools to administrators, by a header. */
const startTwoFaced = (era: "legacy" | "modern") =>
  startJsonRpcServer(
    {
      "tools/list": ({ headers }) => ({
        tools: ["look", ...(headers["x-role"] === "admin" ? ["erase"] : [])].map((name) => ({
          name,
          description: `for ${headers["x-role"]}`,
          inputSchema: { type: "object" },
        })),
      }),
      "tools/call": ({ headers }) => ({ content: [{ type: "text", text: String(headers["x-role"]) }] }),
    },
    { era },
  );

const entries = (url: string) => ({
  boss: { url, headers: { "x-role": "admin" } },
  guest: { url, headers: { "x-role": "guest" } },
});

/** The tools of a new port before it connects. */
async function savedTools(store: Store, url?: string): Promise<Record<string, number>> {
  await using toolport = createToolport({ store, ...(url !== undefined && { mcpServers: entries(url) }) });
  await toolport.connect({ servers: [] });
  const { servers } = toolport.snapshot();
  return Object.fromEntries(Object.entries(servers).map(([name, { toolCount }]) => [name, toolCount]));
}

describe.each(["legacy", "modern"] as const)("lists of a %s server", (era) => {
  test.each(["configured", "added at run time"])(
    "%s: each name has its own list after a restart",
    async (how) => {
      await using server = await startTwoFaced(era);
      const { url } = server.entry;
      const store = memoryStore();
      {
        await using toolport = createToolport({
          store,
          ...(how === "configured" && { mcpServers: entries(url) }),
        });
        if (how !== "configured")
          for (const [name, entry] of Object.entries(entries(url))) await toolport.add(name, entry);
        expect(await toolport.tools()).toHaveLength(3);
      }
      const found = await savedTools(store, how === "configured" ? url : undefined);
      expect(found).toEqual({ boss: 2, guest: 1 });
    },
  );

  test("each name has its own pins", async () => {
    await using server = await startTwoFaced(era);
    const store = memoryStore();
    const changed: string[] = [];
    for (const _start of [1, 2]) {
      await using toolport = createToolport({
        store,
        pins: "block",
        mcpServers: entries(server.entry.url),
      });
      toolport.on("toolChanged", ({ server: name, tool }) => changed.push(`${name}.${tool}`));
      expect((await toolport.tools()).map(({ name }) => name)).toEqual([
        "boss__look",
        "boss__erase",
        "guest__look",
      ]);
    }
    expect(changed).toEqual([]);
  });
});

test("a name with another URL starts without the lists and pins of the old one", async () => {
  await using first = await startTwoFaced("modern");
  await using second = await startTwoFaced("modern");
  const store = memoryStore();
  const open = (url: string, role: string) =>
    createToolport({ store, pins: "block", mcpServers: { s: { url, headers: { "x-role": role } } } });
  {
    await using toolport = open(first.entry.url, "admin");
    expect(await toolport.tools()).toHaveLength(2);
  }
  await using toolport = open(second.entry.url, "guest");
  await toolport.connect({ servers: [] });
  expect(toolport.snapshot().servers["s"]).toMatchObject({ toolCount: 0 });
  expect(await toolport.tools()).toHaveLength(1);
});

test("removing a server keeps the records of one with the same name and a longer URL", async () => {
  await using server = await startTwoFaced("modern");
  const { url } = server.entry;
  const store = memoryStore();
  const open = (address: string) =>
    createToolport({
      store,
      pins: "block",
      mcpServers: { s: { url: address, headers: { "x-role": "guest" } } },
    });
  {
    await using longer = open(`${url}/v2`);
    await longer.tools();
  }
  const before = await store.list("");
  await using toolport = open(url);
  await toolport.tools();
  expect((await store.list("")).length).toBeGreaterThan(before.length);
  await toolport.remove("s");
  expect(await store.list("")).toEqual(before);
});

describe("logins", () => {
  const bench = useServer(startOAuthBench);

  const open = (store: Store) =>
    createToolport({
      store,
      callbackUrl: CALLBACK,
      mcpServers: { work: { url: bench.url }, home: { url: bench.url } },
    });
  const connect = async (toolport: ReturnType<typeof open>, name: string) =>
    (await toolport.connect({ servers: [name] })).servers[name]!;

  async function logInBoth(store: Store): Promise<void> {
    await using toolport = open(store);
    for (const [name, user] of [
      ["work", "ada"],
      ["home", "grace"],
    ] as const) {
      const { authUrl } = await connect(toolport, name);
      await toolport.finishAuth(name, new URL(await logIn(authUrl!, user)).searchParams);
    }
  }

  test("each name has its own login, also after a restart", async () => {
    const store = memoryStore();
    await logInBoth(store);
    await using toolport = open(store);
    expect((await toolport.callTool("work__whoami")).text).toContain("ada");
    expect((await toolport.callTool("home__whoami")).text).toContain("grace");
  });

  test("the callback of one name is refused for the other", async () => {
    await using toolport = open(memoryStore());
    const { authUrl } = await connect(toolport, "work");
    await connect(toolport, "home");
    const params = new URL(await logIn(authUrl!, "ada")).searchParams;
    expect(await failure(toolport.finishAuth("home", params))).toMatchObject({ code: "AUTH_FAILED" });
    expect(await toolport.authStatus("home")).toEqual({ authorized: false });
    expect(await toolport.finishAuth("work", params)).toMatchObject({ state: "ready" });
  });

  test("logging out of one keeps the other", async () => {
    const store = memoryStore();
    await logInBoth(store);
    await using toolport = open(store);
    await toolport.logOut("work");
    expect(await toolport.authStatus("work")).toEqual({ authorized: false });
    expect((await toolport.callTool("home__whoami")).text).toContain("grace");
  });

  test("removing one deletes its records and no others; added again it has to log in", async () => {
    const store = memoryStore();
    await logInBoth(store);
    await using toolport = open(store);
    await toolport.callTool("work__whoami");
    await toolport.callTool("home__whoami");
    await toolport.remove("work");
    const keys = await store.list("");
    expect(keys.filter((key) => key.includes("/work"))).toEqual([]);
    expect(keys.filter((key) => key.startsWith("era/"))).toHaveLength(1);
    expect((await toolport.callTool("home__whoami")).text).toContain("grace");
    expect(await toolport.add("work", { url: bench.url })).toMatchObject({ state: "authenticating" });
    await toolport.remove("work");
    await toolport.remove("home");
    expect(await store.list("")).toEqual([]);
  });

  test("removing one with keepState keeps its login for later", async () => {
    const store = memoryStore();
    await logInBoth(store);
    await using toolport = open(store);
    await toolport.remove("work", { keepState: true });
    expect(await toolport.add("work", { url: bench.url, timeoutMs: 5_000 })).toMatchObject({
      state: "ready",
    });
    expect((await toolport.callTool("work__whoami")).text).toContain("ada");
  });
});
