/** The store in Redis when Redis is in trouble, and when many processes share it. */
import { Cluster, type Redis } from "ioredis";
import type { Store } from "toolport";
import { redisStore } from "toolport/redis";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { openSockets, takeLeakSnapshot, waitForNoLeaks } from "../support/leaks.js";
import { type RedisService, startRedis, withoutRedis } from "../support/redis-service.js";
import { countTogether, runWorker, storeSource, troubleOf } from "../support/shared-store.js";
import { waitFor } from "../support/wait-for.js";

const KEY = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
const TOTAL = process.env.TOOLPORT_LONG ? 10_000 : 400;

const source = storeSource();
afterAll(source.remove);

describe.skipIf(withoutRedis)("the store in redis-server", () => {
  let redis: RedisService;
  const stores: Store[] = [];
  const open = (urlOrClient: string | Redis = redis.url, prefix = "{trouble}:"): Store => {
    const store = redisStore(urlOrClient, { key: KEY, prefix });
    stores.push(store);
    return store;
  };
  const command = async (...words: [string, ...string[]]) => {
    const client = redis.connect();
    try {
      return await client.call(...words);
    } finally {
      client.disconnect();
    }
  };

  beforeAll(async () => {
    redis = await startRedis();
  });
  afterEach(() => Promise.all(stores.splice(0).map((store) => store.close())));
  afterAll(() => redis?.[Symbol.asyncDispose]());

  test("down at the start: a typed error, and it works once the server is there", async () => {
    await redis.stop();
    const store = open();
    const error = await troubleOf(store.get("a"), redis.password);
    expect(error).toMatchObject({ code: "UNAVAILABLE", retryable: true });
    expect(error.message).toContain(`127.0.0.1:${redis.port}`);
    expect(error.message).toContain("ECONNREFUSED");
    await redis.start();
    expect(await store.put("a", 1)).toBeGreaterThan(0);
  });

  test("dies in the middle: calls fail at once, then go on with what was committed", async () => {
    const store = open();
    const version = await store.put("a", "kept", { secret: true });
    await redis.kill();
    const calls = [store.get("a"), store.put("a", 2), store.lease("l", { ttlMs: 1_000 })];
    for (const error of await Promise.all(calls.map((call) => troubleOf(call, redis.password)))) {
      expect(error).toMatchObject({ code: "UNAVAILABLE", retryable: true });
    }
    await redis.start();
    expect(await store.get("a")).toEqual({ value: "kept", version, sealed: true });
    expect(await store.put("a", 2, { ifVersion: version })).toBeGreaterThan(version as number);
  });

  test("frozen: every call ends in time, and calls after it work", async () => {
    const store = open();
    await store.put("a", 1);
    redis.pause();
    try {
      const calls = Array.from({ length: 50 }, () => troubleOf(store.get("a"), redis.password));
      for (const error of await Promise.all(calls)) expect(error.code).toBe("UNAVAILABLE");
    } finally {
      redis.resume();
    }
    expect((await store.get("a"))?.value).toBe(1);
  });

  test("frozen, with a client of the user's: the same", async () => {
    const client = redis.connect();
    const store = open(client);
    await store.put("a", 1);
    redis.pause();
    try {
      const calls = Array.from({ length: 50 }, () => troubleOf(store.get("a"), redis.password));
      for (const error of await Promise.all(calls)) expect(error.code).toBe("UNAVAILABLE");
    } finally {
      redis.resume();
    }
    expect((await store.get("a"))?.value).toBe(1);
    client.disconnect();
  });

  test("a wrong password is named as that, and shown nowhere", async () => {
    const wrong = "wrong-canary-91c2";
    const store = open(redis.url.replace(redis.password, wrong));
    const error = await troubleOf(store.put("a", 1), wrong);
    expect(error).toMatchObject({ code: "UNAVAILABLE", retryable: false });
    expect(error.message).toContain("refused the login");
  });

  test("an address that is none of Redis is refused without being shown", () => {
    for (const url of [
      "postgres://u:canary-91c2@host/db",
      "redis://u:canary-91c2@ho st",
      "http://canary-91c2@x",
    ]) {
      expect(() => redisStore(url)).toThrow("is not a Redis URL");
      expect(() => redisStore(url)).not.toThrow("canary-91c2");
    }
  });

  test("a replica is read; writes say why they fail, and work again after the failover", async () => {
    const store = open();
    await store.put("a", 1);
    await command("replicaof", "127.0.0.1", "1");
    try {
      expect((await store.get("a"))?.value).toBe(1);
      expect(await store.list("")).toContain("a");
      const error = await troubleOf(store.put("a", 2), redis.password);
      expect(error).toMatchObject({ code: "UNAVAILABLE", retryable: true });
      expect(error.message).toContain("takes no writes");
    } finally {
      await command("replicaof", "no", "one");
    }
    expect(await store.put("a", 3)).toBeGreaterThan(0);
  });

  test("a server without memory says FULL, and keeps what it had", async () => {
    const store = open();
    const version = await store.put("a", "old");
    await command("config", "set", "maxmemory", "1");
    try {
      expect(await troubleOf(store.put("a", "new"), redis.password)).toMatchObject({ code: "FULL" });
      expect(await store.get("a")).toMatchObject({ value: "old", version });
    } finally {
      await command("config", "set", "maxmemory", "0");
    }
  });

  test("a server that lost everything hands out no version and no fence twice", async () => {
    const store = open();
    const version = (await store.put("a", 1)) as number;
    const lease = await store.lease("l", { ttlMs: 60_000 });
    await command("flushall");
    await command("script", "flush");
    expect(await store.put("a", 2, { ifVersion: version })).toBeUndefined();
    expect(await store.put("a", 2, { lease })).toBeUndefined();
    expect(await store.put("a", 3, { ifVersion: 0 })).toBeGreaterThan(version);
    expect((await store.lease("l", { ttlMs: 1_000 }))?.fence).toBeGreaterThan(lease?.fence as number);
  });

  test("watching goes on after the server was away, and tells what was missed", async () => {
    const [store, other] = [open(), open()];
    await other.put("w/deleted", 1);
    const told = new Set<string>();
    store.watch("w/", (key) => told.add(key));
    await other.put("w/1", 1);
    await waitFor(() => told.has("w/1"));
    told.clear();
    await redis.kill();
    await redis.start();
    await other.put("w/2", 1);
    await other.delete("w/deleted");
    await waitFor(() => told.has("w/2") && told.has("w/deleted"), { label: "what was missed to be told" });
    told.clear();
    await other.put("w/3", 1);
    await waitFor(() => told.has("w/3"), { label: "watching to go on" });
  });

  test("what expired leaves the index with the next writes", async () => {
    const store = open(redis.url, "{expiry}:");
    await store.put("a", 1, { ttlMs: 1 });
    await store.put("b", 1, { ttlMs: 1 });
    await waitFor(async () => (await store.list("")).length === 0);
    await store.put("c", 1);
    expect(await command("zrange", "{expiry}:index", "0", "-1")).toEqual(["c"]);
    expect(await command("zcard", "{expiry}:expiry")).toBe(0);
  });

  test("close leaves nothing behind, frozen or not, and is quick", async () => {
    const before = takeLeakSnapshot();
    for (const isFrozen of [false, true]) {
      const store = open();
      store.watch("", () => {});
      await store.put("a", 1);
      await store.list("");
      if (isFrozen) redis.pause();
      try {
        const startedAt = performance.now();
        await Promise.all([store.close(), store.close()]);
        expect(performance.now() - startedAt).toBeLessThan(30_000);
        expect(openSockets()).toBe(before.sockets);
      } finally {
        redis.resume();
      }
      await waitForNoLeaks(before);
    }
  });

  test("a client of the user's is not closed, and keeps none of our listeners", async () => {
    const client = redis.connect();
    const listeners = client.listenerCount("error");
    const store = open(client);
    store.watch("", () => {});
    await store.put("a", 1);
    await store.close();
    expect(await client.ping()).toBe("PONG");
    expect(client.listenerCount("error")).toBe(listeners);
    client.disconnect();
  });

  test("databases of one server do not disturb each other", async () => {
    const [store, other] = [open(redis.url.replace(/0$/, "1")), open()];
    const told: string[] = [];
    store.watch("", (key) => told.push(key));
    await other.put("elsewhere", 1);
    await store.put("here", 1);
    await waitFor(() => told.includes("here"));
    expect(await store.get("elsewhere")).toBeUndefined();
    expect(told).not.toContain("elsewhere");
  });

  test("secrets need a key, and the error says how to make one", async () => {
    const store = redisStore(redis.url);
    stores.push(store);
    await expect(store.put("s", 1, { secret: true })).rejects.toThrow("openssl rand -base64 32");
    expect(await store.put("s", 1)).toBeGreaterThan(0);
  });

  test(`eight processes, ${TOTAL} updates of one record: none is lost`, { timeout: 300_000 }, async () => {
    const result = await countTogether(
      { kind: "redis", url: redis.url, total: TOTAL, folder: source.folder },
      (name) => open(redis.url, `{${name}}:`),
    );
    if (process.env.TOOLPORT_LONG) console.log("Redis:", result);
    expect(result.value).toBe(TOTAL);
  });

  test("a process that forgets to close ends by itself", async () => {
    expect(await runWorker([source.folder, "redis", redis.url, "forgets", "forgets"])).toBe("done");
  });
});

describe.skipIf(withoutRedis)("the store in a cluster of redis-server", () => {
  test("its keys lie together, and everything works", async () => {
    await using redis = await startRedis({ isCluster: true });
    const node = redis.connect();
    await node.call("cluster", "addslotsrange", "0", "16383");
    await waitFor(async () => String(await node.call("cluster", "info")).includes("cluster_state:ok"), {
      timeoutMs: 10_000,
    });
    node.disconnect();
    const cluster = new Cluster([{ host: "127.0.0.1", port: redis.port }], {
      redisOptions: { password: redis.password },
    });
    const stores = [redisStore(cluster, { key: KEY }), redisStore(cluster, { key: KEY })] as const;
    try {
      const [store, other] = stores;
      const told = new Set<string>();
      store.watch("", (key) => told.add(key));
      const lease = await store.lease("l", { ttlMs: 10_000 });
      const version = await other.put("a", 1, { lease, secret: true });
      expect(await store.get("a")).toEqual({ value: 1, version, sealed: true });
      await waitFor(() => told.has("a"));
      expect(await store.list("")).toEqual(["a"]);
      expect(await store.delete("a", { ifVersion: version })).toBe(true);
    } finally {
      await Promise.all(stores.map((store) => store.close()));
      cluster.disconnect();
    }
  });
});

test("without the package the error says how to get it", async () => {
  const apart = storeSource({ withPackages: false });
  try {
    const output = await runWorker([apart.folder, "redis", "redis://127.0.0.1:1", "x", "fails"]);
    expect(JSON.parse(output)).toMatchObject({
      code: "UNAVAILABLE",
      message: expect.stringContaining("npm install ioredis"),
    });
  } finally {
    apart.remove();
  }
});
