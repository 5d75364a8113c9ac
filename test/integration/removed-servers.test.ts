/** What a removed server leaves in the store: nothing that names it. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createToolport, isSuspended, memoryStore, type Store, type Toolport } from "toolport";
import { McpClientManager } from "toolport/agents";
import { sqliteStore } from "toolport/sqlite";
import { createTestServer, type TestServer } from "toolport/testing";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type OAuthBench, startOAuthBench } from "../support/oauth-bench.js";
import { logIn } from "../support/oauth-browser.js";
import { CALLBACK_URL } from "../support/oauth-callback-url.js";

let bench: OAuthBench;
let folder: string;
beforeAll(async () => {
  bench = await startOAuthBench();
  folder = mkdtempSync(join(tmpdir(), "toolport-removed-"));
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await bench[Symbol.asyncDispose]();
});

let files = 0;
/** A name that cannot be a part of a hash. */
const PERSON = "olga";

const STORES: readonly (readonly [name: string, open: () => Store])[] = [
  ["memory", () => memoryStore()],
  [
    "SQLite",
    () => sqliteStore(join(folder, `${++files}.db`), { key: Buffer.alloc(32, 1).toString("base64") }),
  ],
];

/** Every record that contains one of these texts. */
async function recordsWith(store: Store, texts: readonly string[]): Promise<string[]> {
  const keys = await store.list("");
  const all = await Promise.all(
    keys.map(
      async (key) => `${key} ${decodeURIComponent(key)} ${JSON.stringify((await store.get(key))?.value)}`,
    ),
  );
  return all.filter((record) => texts.some((text) => record.includes(text)));
}

async function logInTo(toolport: Toolport, user: string): Promise<void> {
  const { authUrl } = await toolport.connectServer("vault");
  const report = await toolport.finishAuth("vault", (await logIn(authUrl!, user)).searchParams);
  expect(report.state).toBe("ready");
}

/** A login, a suspended call, the outcome of a call with a key, lists, pins, and what belongs to the server itself. */
async function use(toolport: Toolport, user: string): Promise<void> {
  await logInTo(toolport, user);
  await toolport.callTool("vault__whoami", {}, { suspend: true });
  await toolport.callTool("vault__whoami", {}, { suspend: { key: `waiting of ${user}` } });
  const keyed = await toolport.callTool("vault__whoami", {}, { suspend: { key: `order of ${user}` } });
  if (!isSuspended(keyed)) throw new Error("not suspended");
  await toolport.resume(keyed.token, { approve: true });
}

describe.each(STORES)("in a store: %s", (_name, openStore) => {
  let store: Store;
  let served: TestServer;
  let plain: Awaited<ReturnType<TestServer["http"]>>;
  beforeEach(async () => {
    store = openStore();
    served = createTestServer({ tools: { whoami: { handler: () => "me" } } });
    plain = await served.http();
  });
  afterEach(async () => {
    await served[Symbol.asyncDispose]();
    await store.close();
  });
  const names = () => ["vault", new URL(bench.url).host];

  function open(): Toolport {
    return createToolport({ store, callbackUrl: CALLBACK_URL, pins: "warn", approve: { when: "always" } });
  }

  test("remove() on the plain port leaves nothing of any user", async () => {
    await using toolport = open();
    await toolport.add("vault", { url: bench.url });
    await use(toolport, "root");
    await use(toolport.as(PERSON), PERSON);
    // A login that is not finished.
    await toolport.as("bob").connectServer("vault");
    // A user who added the same server, and is gone.
    await toolport.as("eve").add("vault", { url: bench.url });
    await toolport.as("eve").close();
    expect((await recordsWith(store, names())).length).toBeGreaterThan(10);
    await toolport.remove("vault");
    expect(await recordsWith(store, names())).toEqual([]);
  });

  test("remove() of a user leaves nothing of this user, and everything of the others", async () => {
    await using toolport = open();
    await toolport.add("vault", { url: bench.url });
    await use(toolport, "root");
    const before = await recordsWith(store, names());
    await use(toolport.as(PERSON), PERSON);
    await toolport.as(PERSON).remove("vault");
    const after = await recordsWith(store, names());
    expect(after.map((record) => record.split(" ")[0])).toEqual(before.map((record) => record.split(" ")[0]));
    expect(await recordsWith(store, [PERSON])).toEqual([]);
  });

  test("remove() of the only user of a server leaves nothing", async () => {
    await using toolport = open();
    const person = toolport.as(PERSON);
    person.register("vault", { url: bench.url });
    await use(person, PERSON);
    await person.remove("vault");
    expect(await recordsWith(store, names())).toEqual([]);
  });

  test("another entry with the same address keeps what both use", async () => {
    await using toolport = open();
    await toolport.add("vault", { url: plain.url });
    await toolport.add("other", { url: plain.url });
    await toolport.callTool("vault__whoami", {}, { suspend: true });
    await toolport.callTool("other__whoami", {}, { suspend: true });
    await toolport.remove("vault");
    expect(await recordsWith(store, ["vault"])).toEqual([]);
    const kept = (await recordsWith(store, ["other", plain.url])).map((record) => record.split("/")[0]);
    expect(kept).toEqual(expect.arrayContaining(["catalog", "era", "pins", "servers", "suspended"]));
    expect(await toolport.suspended()).toHaveLength(1);
    await toolport.remove("other");
    expect(await recordsWith(store, ["other", new URL(plain.url).host])).toEqual([]);
  });

  test.each([undefined, "agent-7"])(
    "a server that an agent removes leaves nothing (principal: %s)",
    async (principal) => {
      await using agent = new McpClientManager({ store, principal, pins: "warn" });
      const callbackUrl = CALLBACK_URL;
      const { id, authUrl } = await agent.addServer("vault", bench.url, { callbackUrl });
      await agent.toolport.finishAuth(id, (await logIn(authUrl!)).searchParams);
      expect((await recordsWith(store, names())).length).toBeGreaterThan(5);
      await agent.removeServer(id);
      expect(await recordsWith(store, [...names(), id])).toEqual([]);
    },
  );
});
