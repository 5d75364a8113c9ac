/** The response cache of the registry client: revalidated by ETag, and used while the registry is down. */
import { memoryStore } from "toolport";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { McpRegistryClientOptions } from "../../packages/registry/src/registry-options.js";
import { createStore } from "../../packages/stores/src/create-store.js";
import { createMemoryBackend } from "../../packages/stores/src/memory-store.js";
import { failure } from "../support/failure.js";
import { seedServers, useRegistry } from "../support/registry-server.js";

const { registry, warnings, client, restart } = useRegistry();
const name = seedServers[0]!.name;
afterEach(() => void vi.useRealTimers());

/** Fakes only `Date`: sockets and timers stay real. */
const later = (ms: number): void => {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + ms });
};

const down = () =>
  registry.intercept((_request, response) => response.writeHead(503).end(), Number.POSITIVE_INFINITY);

describe.each<[string, () => McpRegistryClientOptions]>([
  ["in memory", () => ({})],
  ["in a store", () => ({ cache: memoryStore() })],
])("%s", (_place, options) => {
  it("a response is revalidated by its ETag", async () => {
    const asking = client(options());
    const first = await asking.listServers();
    expect(await asking.listServers()).toEqual(first);
    expect(registry.seen.map(({ headers }) => headers["if-none-match"])).toEqual([
      undefined,
      expect.stringMatching(/^"/),
    ]);
    registry.setRecords([{ server: seedServers[0]! }]);
    expect((await asking.listServers()).servers).toHaveLength(1);
  });

  it("each request has its own cache entry", async () => {
    const asking = client(options());
    await asking.listServers({ search: "a" });
    await asking.listServers({ search: "b" });
    expect(registry.seen[1]?.headers["if-none-match"]).toBeUndefined();
  });

  it("a stale response is used while the registry is down, marked and reported", async () => {
    const asking = client(options());
    const page = await asking.listServers();
    const server = await asking.getServer(name);
    down();
    const old = await asking.listServers();
    expect(old).toMatchObject({
      servers: page.servers,
      stale: { error: { code: "HTTP_STATUS", status: 503 } },
    });
    expect(await asking.getServer(name)).toMatchObject({
      server: server.server,
      stale: { ageMs: expect.any(Number) },
    });
    expect(warnings.map(({ kind }) => kind)).toEqual(["stale", "stale"]);
    registry.intercept(() => {}, 0);
    expect((await asking.listServers()).stale).toBeUndefined();
  });

  it("a stale response expires", async () => {
    const asking = client({ ...options(), maxStaleMs: 1_000 });
    await asking.listServers();
    down();
    later(1_001);
    expect(await failure(asking.listServers())).toMatchObject({ code: "HTTP_STATUS" });
  });

  it("a response for a deleted server is removed", async () => {
    const asking = client(options());
    await asking.getServer(name);
    registry.setRecords([]);
    expect(await failure(asking.getServer(name))).toMatchObject({ code: "UNKNOWN_SERVER" });
    down();
    expect(await failure(asking.getServer(name))).toMatchObject({ code: "HTTP_STATUS" });
  });

  it("a response is fresh for its max-age, an hour at most", async () => {
    await restart({ headers: { "cache-control": "public, max-age=99999" } });
    const asking = client(options());
    await asking.listServers();
    await asking.listServers();
    expect(registry.seen).toHaveLength(1);
    later(3_600_001);
    await asking.listServers();
    expect(registry.seen).toHaveLength(2);
  });

  it("no-store responses are not cached", async () => {
    await restart({ headers: { "cache-control": "no-store" } });
    const asking = client(options());
    await asking.listServers();
    down();
    expect(await failure(asking.listServers())).toMatchObject({ code: "HTTP_STATUS" });
  });
});

it("uses Last-Modified without an ETag", async () => {
  const date = "Thu, 01 Jan 2026 00:00:00 GMT";
  const body = JSON.stringify({ servers: [] });
  registry.intercept((_request, response) => response.writeHead(200, { "last-modified": date }).end(body));
  const asking = client();
  await asking.listServers();
  registry.intercept((_request, response) => response.writeHead(304).end());
  expect((await asking.listServers()).servers).toEqual([]);
  expect(registry.seen[1]?.headers["if-modified-since"]).toBe(date);
});

it("sends no request within freshMs", async () => {
  const asking = client({ freshMs: 60_000 });
  await asking.listServers();
  await asking.listServers();
  expect(registry.seen).toHaveLength(1);
});

it("uses no stale response after an abort or a refusal, or if disabled", async () => {
  const asking = client();
  await asking.listServers();
  const never = client({ maxStaleMs: 0 });
  await never.listServers();
  registry.intercept((_request, response) => response.writeHead(403).end(), Number.POSITIVE_INFINITY);
  expect(await failure(asking.listServers())).toMatchObject({ code: "FORBIDDEN" });
  down();
  expect(await failure(asking.listServers({ signal: AbortSignal.abort("stop") }))).toBe("stop");
  expect(await failure(never.listServers())).toMatchObject({ code: "HTTP_STATUS" });
  expect(await failure(client({ cache: false }).listServers())).toMatchObject({ code: "HTTP_STATUS" });
});

describe("a store", () => {
  it("is shared by clients, and survives them", async () => {
    const store = memoryStore();
    await client({ cache: store }).listServers();
    down();
    expect((await client({ cache: store }).listServers()).stale).toBeDefined();
    expect(await store.list("registry/")).toHaveLength(1);
  });

  it("is not used for responses to authenticated requests", async () => {
    const store = memoryStore();
    const asking = client({ cache: store, headers: { authorization: "Bearer one" } });
    await asking.listServers();
    expect(await store.list("")).toEqual([]);
    down();
    expect((await asking.listServers()).stale).toBeDefined();
  });

  it("is used only if its records are sealed", async () => {
    const store = memoryStore();
    await client({ cache: store }).listServers();
    const [key] = await store.list("registry/");
    const record = await store.get(key!);
    await store.put(key!, record?.value);
    down();
    expect(await failure(client({ cache: store }).listServers())).toMatchObject({ code: "HTTP_STATUS" });
    await store.put(key!, { url: 1 }, { secret: true });
    expect(await failure(client({ cache: store }).listServers())).toMatchObject({ code: "HTTP_STATUS" });
  });

  it("without a key caches nothing and breaks nothing", async () => {
    const store = createStore(createMemoryBackend());
    expect((await client({ cache: store }).listServers()).servers).toHaveLength(19);
    expect(warnings).toMatchObject([{ kind: "cache", error: { code: "KEY_MISMATCH" } }]);
    expect(await store.list("")).toEqual([]);
  });

  it("that fails affects nothing else, even if the warning listener fails, too", async () => {
    const broken = {
      ...memoryStore(),
      get: () => Promise.reject(new Error("disk")),
      put: () => Promise.reject(new Error("disk")),
    };
    const onWarning = vi.fn(() => {
      throw new Error("listener");
    });
    const asking = client({ cache: broken, onWarning });
    expect((await asking.listServers({ limit: 1 })).servers).toHaveLength(1);
    expect(onWarning).toHaveBeenCalledTimes(2);
  });
});

it("caches the newest responses in memory, and none that is too large", async () => {
  const large = JSON.stringify({ servers: [], x: "x".repeat(1_900_000) });
  const huge = JSON.stringify({ servers: [], x: "x".repeat(2_200_000) });
  const asking = client();
  const ask = async (search: string, body: string) => {
    registry.intercept((_request, response) => response.writeHead(200).end(body));
    await asking.listServers({ search });
  };
  await ask("huge", huge);
  for (let index = 0; index < 9; index++) await ask(`large ${index}`, large);
  down();
  expect(await failure(asking.listServers({ search: "huge" }))).toMatchObject({ code: "HTTP_STATUS" });
  expect(await failure(asking.listServers({ search: "large 0" }))).toMatchObject({ code: "HTTP_STATUS" });
  expect((await asking.listServers({ search: "large 8" })).stale).toBeDefined();
});
