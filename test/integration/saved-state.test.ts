/** Servers added at run time are restored after a restart; the configuration takes precedence; unsaved fields are reported. */
import { fileURLToPath } from "node:url";
import { createToolport, memoryStore, type Store } from "toolport";
import { createTestServer } from "toolport/testing";
import { expect, test } from "vitest";
import { waitFor } from "../support/wait-for.js";

const STDIO_SERVER = fileURLToPath(new URL("../fixtures/servers/sdk-stdio.mjs", import.meta.url));

const greeter = (greeting = "hello") =>
  createTestServer({ name: "greeter", tools: { greet: { handler: () => greeting } } });

test("a server added at run time is restored: its tools are listed before it connects, and a call connects it", async () => {
  const store = memoryStore();
  await using server = greeter();
  const http = await server.http();
  {
    await using first = createToolport({ store });
    expect(await first.add("web", http.entry)).toMatchObject({ state: "ready", toolCount: 1 });
  }
  const before = http.requestCount;
  await using second = createToolport({ store });
  expect((await second.tools()).map(({ name }) => name)).toEqual(["web__greet"]);
  expect(second.snapshot().servers["web"]).toMatchObject({ state: "idle", toolCount: 1 });
  expect(http.requestCount).toBe(before);
  expect((await second.callTool("web__greet")).text).toBe("hello");
  expect(second.snapshot().servers["web"]).toMatchObject({ state: "ready" });
});

test("the servers of `mcpServers` are not saved, but their lists are: a call connects only its own server", async () => {
  const store = memoryStore();
  await using server = greeter();
  await using bystander = greeter();
  const [web, other] = [await server.http(), await bystander.http()];
  const mcpServers = { web: web.entry, other: other.entry };
  {
    await using first = createToolport({ mcpServers, store });
    await first.connect();
  }
  await using without = createToolport({ store });
  expect(await without.tools()).toEqual([]);
  const before = other.requestCount;
  await using again = createToolport({ mcpServers, store });
  // tools() reads the current lists; a call needs only its own tool.
  expect((await again.callTool("web__greet")).text).toBe("hello");
  expect(other.requestCount).toBe(before);
  expect(again.snapshot().servers["other"]).toMatchObject({ state: "idle" });
  expect(await again.tools()).toHaveLength(2);
  expect(again.snapshot().servers["other"]).toMatchObject({ state: "ready" });
});

test("a tool newer than the saved lists is found", async () => {
  const store = memoryStore();
  await using server = greeter();
  const http = await server.http();
  {
    await using first = createToolport({ store });
    await first.add("web", http.entry);
  }
  await server.update({ tools: { wave: { handler: () => "waves" } } });
  await using second = createToolport({ store });
  expect((await second.tools()).map(({ name }) => name)).toEqual(["web__greet"]);
  expect((await second.callTool("web__wave")).text).toBe("waves");
});

test("cache: false takes nothing from the store", async () => {
  const store = memoryStore();
  await using server = greeter();
  const http = await server.http();
  {
    await using first = createToolport({ mcpServers: { web: http.entry }, store });
    await first.connect();
  }
  await using second = createToolport({ mcpServers: { web: http.entry }, store, cache: false });
  expect(await second.tools()).toHaveLength(1);
  expect(second.snapshot().servers["web"]).toMatchObject({ state: "ready" });
});

test('restore: "connect" connects them at once, restore: false ignores them', async () => {
  const store = memoryStore();
  await using server = greeter();
  const http = await server.http();
  {
    await using first = createToolport({ store });
    await first.add("web", http.entry);
  }
  await using eager = createToolport({ store, restore: "connect" });
  await waitFor(() => eager.snapshot().servers["web"]?.state === "ready");
  await using none = createToolport({ store, restore: false });
  expect(await none.tools()).toEqual([]);
});

test("removed servers stay removed", async () => {
  const store = memoryStore();
  await using server = greeter();
  const http = await server.http();
  {
    await using first = createToolport({ store });
    await first.add("web", http.entry);
    await first.remove("web");
  }
  await using second = createToolport({ store });
  expect(await second.tools()).toEqual([]);
  expect(second.snapshot().servers).toEqual({});
});

test("the configuration overrides a record of the same name", async () => {
  const store = memoryStore();
  await using saved = greeter("from the record");
  await using configured = greeter("from the program");
  const [old, fresh] = [await saved.http(), await configured.http()];
  {
    await using first = createToolport({ store });
    await first.add("web", old.entry);
  }
  await using second = createToolport({ mcpServers: { web: fresh.entry }, store });
  expect((await second.callTool("web__greet")).text).toBe("from the program");
  await using third = createToolport({ store });
  await third.tools();
  await third.add("web", fresh.entry);
  expect((await third.callTool("web__greet")).text).toBe("from the program");
});

test("functions are not saved: the server stays idle with a reason until it is added again", async () => {
  const store = memoryStore();
  await using server = greeter();
  const http = await server.http();
  const entry = { ...http.entry, headers: async () => ({ "x-key": "1" }) };
  {
    await using first = createToolport({ store });
    await first.add("web", entry);
  }
  await using second = createToolport({ store });
  const { servers } = await second.connect();
  expect(servers["web"]).toMatchObject({ state: "idle", error: { code: "INVALID_CONFIG" } });
  expect(servers["web"]!.error!.message).toContain("headers");
  expect(servers["web"]!.error!.message).toContain("Add it again");
  expect(await second.add("web", entry)).toMatchObject({ state: "ready" });
});

test("a saved server that starts a process does so only if its record is sealed", async () => {
  const store = memoryStore();
  const entry = { command: process.execPath, args: [STDIO_SERVER] };
  {
    await using first = createToolport({ store });
    expect(await first.add("local", entry)).toMatchObject({ state: "ready" });
  }
  await using second = createToolport({ store });
  expect((await second.connectServer("local")).state).toBe("ready");
  // As an attacker with access to the database but not to the key would write it.
  const record = await store.get("servers//local");
  await store.put("servers//local", record!.value);
  await using third = createToolport({ store });
  const report = await third.connectServer("local");
  expect(report).toMatchObject({ state: "idle", error: { code: "INVALID_CONFIG" } });
  expect(report.error!.message).toContain("not sealed");
});

test("headers and variables of a saved entry are never in the store as plain text", async () => {
  const seen: string[] = [];
  const inner = memoryStore();
  const store: Store = {
    ...inner,
    put: (key, value, options) => {
      if (options?.secret !== true) seen.push(JSON.stringify([key, value]));
      return inner.put(key, value, options);
    },
  };
  await using server = greeter();
  const http = await server.http();
  await using toolport = createToolport({ store });
  await toolport.add("web", { ...http.entry, headers: { "x-key": "canary-header" } });
  toolport.register("local", { command: "nothing", env: { KEY: "canary-env" } });
  await toolport.close();
  expect(await inner.list("servers/")).toEqual(["servers//local", "servers//web"]);
  expect(seen.join("\n")).not.toContain("canary");
});

test("servers of one user are restored for that user only", async () => {
  const store = memoryStore();
  await using server = greeter();
  const http = await server.http();
  {
    await using first = createToolport({ store });
    await first.as("ada").add("web", http.entry);
  }
  await using second = createToolport({ store });
  expect(await second.as("ada").tools()).toHaveLength(1);
  expect(await second.as("bob").tools()).toEqual([]);
  expect(await second.tools()).toEqual([]);
});

test("an unreadable record affects only its own server", async () => {
  const store = memoryStore();
  await using server = greeter();
  const http = await server.http();
  {
    await using first = createToolport({ store });
    await first.add("web", http.entry);
  }
  await store.put("servers//bad", { entry: { nonsense: true }, unsaved: [], savedAt: 0 }, { secret: true });
  await store.put("servers//worse", "not even an object");
  const warnings: string[] = [];
  await using second = createToolport({ store });
  second.on("warning", ({ server: name, message }) => warnings.push(`${name}: ${message}`));
  expect(await second.tools()).toHaveLength(1);
  expect(warnings.filter((line) => line.includes("could not be restored"))).toHaveLength(2);
});
