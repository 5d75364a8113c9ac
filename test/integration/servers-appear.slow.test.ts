/** Servers that one process adds, changes or removes appear in the others that share its store. */
import { createToolport, memoryStore, type Store, type Toolport, type ToolportOptions } from "toolport";
import { createTestServer, type TestServer } from "toolport/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { makeSqlitePlace, openStore, sharedStoreKinds } from "../support/oauth-stores.js";
import { startHost } from "../support/start-host.js";
import { useServer } from "../support/use-server.js";
import { waitFor } from "../support/wait-for.js";

let server: TestServer;
let url = "";
let otherUrl = "";
beforeAll(async () => {
  server = createTestServer({
    tools: {
      one: { handler: () => "1" },
      key: { handler: (_args, { request }) => request.http?.req?.headers.get("x-key") ?? "none" },
    },
  });
  url = (await server.http()).url;
  otherUrl = (await server.http()).url;
});
afterAll(() => server.close());

const namesOf = (port: Toolport) => Object.keys(port.snapshot().servers).sort();
const appears = (port: Toolport, ...names: string[]) =>
  waitFor(() => namesOf(port).join() === names.sort().join(), {
    label: () => `${names.join()} instead of ${namesOf(port).join()}`,
  });

interface Pair extends AsyncDisposable {
  readonly here: Toolport;
  readonly there: Toolport;
}

/** Two programs, each with its own connection to the same database. */
async function openPair(
  open: () => Store,
  options: { here?: ToolportOptions; there?: ToolportOptions } = {},
): Promise<Pair> {
  const stores = [open(), open()] as const;
  const here = createToolport({ ...options.here, store: stores[0] });
  const there = createToolport({ ...options.there, store: stores[1] });
  await Promise.all([here, there].map((port) => port.connect({ servers: [] })));
  return {
    here,
    there,
    async [Symbol.asyncDispose]() {
      await Promise.all([here, there].map((port) => port.close()));
      await Promise.all(stores.map((store) => store.close()));
    },
  };
}

describe.each(sharedStoreKinds)("through $name", ({ missing, start }) => {
  const shared = useServer(start);

  test.skipIf(missing)("for all users, and for one user", async () => {
    const place = await shared.makePlace();
    await using pair = await openPair(() => openStore(place));
    const { here, there } = pair;
    const [ada, adaThere, graceThere] = [here.as("ada"), there.as("ada"), there.as("grace")];
    await Promise.all([ada, adaThere, graceThere].map((port) => port.connect({ servers: [] })));
    await here.add("web", { url });
    await ada.add("own", { url: otherUrl });
    await appears(there, "web");
    await appears(adaThere, "own", "web");
    await appears(graceThere, "web");
    expect((await there.callTool("web__one")).text).toBe("1");
    expect((await adaThere.callTool("own__one")).text).toBe("1");
    await there.remove("web");
    await ada.remove("own");
    for (const port of [here, ada, adaThere, graceThere]) await appears(port);
    expect(await here.tools()).toEqual([]);
  });
});

test("in another process, over SQLite", async () => {
  using place = makeSqlitePlace();
  const host = await startHost("servers-host.mjs", [place.at, place.key]);
  const store = openStore(place);
  const toolport = createToolport({ store });
  await toolport.connect({ servers: [] });
  await toolport.add("a", { url });
  await waitFor(() => host.reported("servers:a"), { label: () => `a in ${host.said.join("; ")}` });
  host.send(`add b ${otherUrl}`);
  await appears(toolport, "a", "b");
  host.send("remove a");
  await appears(toolport, "b");
  await toolport.remove("b");
  await waitFor(() => host.said.includes("servers: []"), {
    label: () => `no server in ${host.said.join("; ")}`,
  });
  host.send("end");
  expect(await host.exited).toMatchObject({ code: 0 });
  await toolport.close();
  await store.close();
});

describe("precedence", () => {
  const openMemory = () => {
    const store = memoryStore();
    return () => ({ ...store, close: async () => {} });
  };

  test("another entry under the same name replaces the server", async () => {
    const place = openMemory();
    await using pair = await openPair(place);
    const { here, there } = pair;
    await here.add("web", { url, headers: { "x-key": "1" } });
    await appears(there, "web");
    expect((await there.callTool("web__key")).text).toBe("1");
    await here.remove("web", { keepState: true });
    await here.add("web", { url: otherUrl, headers: { "x-key": "2" } });
    await waitFor(async () => (await there.callTool("web__key")).text === "2");
  });

  test("new headers reach programs that read the server from the store, not those that configured it", async () => {
    const place = openMemory();
    await using pair = await openPair(place);
    const { here, there } = pair;
    await there.add("web", { url, headers: { "x-key": "there" } });
    await appears(here, "web");
    await using third = createToolport({ store: place() });
    await here.remove("web", { keepState: true });
    await here.add("web", { url, headers: { "x-key": "here" } });
    await waitFor(async () => (await third.callTool("web__key")).text === "here");
  });

  test("a configured server stays, even if others save or remove its name", async () => {
    const place = openMemory();
    await using pair = await openPair(place, { there: { mcpServers: { web: { url } } } });
    const { here, there } = pair;
    await here.add("web", { url: otherUrl });
    await here.add("marker", { url });
    await appears(there, "marker", "web");
    const changes: string[] = [];
    there.on("state", ({ server: name }) => changes.push(name));
    await here.remove("web");
    await here.remove("marker");
    await appears(there, "web");
    expect(changes).not.toContain("web");
  });

  test("a server of one user stays when one of the same name is added and removed for all users", async () => {
    const place = openMemory();
    await using pair = await openPair(place);
    const { here, there } = pair;
    const ada = there.as("ada");
    await ada.add("web", { url, headers: { "x-key": "own" } });
    await here.add("web", { url: otherUrl });
    await appears(there, "web");
    expect((await ada.callTool("web__key")).text).toBe("own");
    await here.remove("web");
    await appears(there);
    expect((await ada.callTool("web__key")).text).toBe("own");
  });

  test('restore: "connect" connects it, restore: false ignores it', async () => {
    const place = openMemory();
    await using pair = await openPair(place, { there: { restore: "connect" } });
    await using third = createToolport({ store: place(), restore: false });
    await pair.here.add("web", { url });
    await waitFor(() => pair.there.snapshot().servers["web"]?.state === "ready");
    expect(namesOf(third)).toEqual([]);
  });

  test("an unreadable record is reported, and the next change is applied", async () => {
    const place = openMemory();
    await using pair = await openPair(place);
    const warned = new Promise((resolve) => pair.there.on("warning", resolve));
    await place().put(
      "servers//bad",
      { entry: { nonsense: true }, unsaved: [], savedAt: 0 },
      { secret: true },
    );
    expect(await warned).toMatchObject({ message: expect.stringContaining("could not be restored") });
    await pair.here.add("web", { url });
    await appears(pair.there, "web");
  });
});
