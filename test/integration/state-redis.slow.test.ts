/** Faults of the store in Redis: those that every database server can have, and those of Redis. */
import { Cluster } from "ioredis";
import { redisStore } from "toolport/redis";
import { describe, expect, test } from "vitest";
import { KEY, redisServer } from "../contract/server-stores.js";
import { testMissingPackage, testServerFaults, useStoreServer } from "../contract/store-on-server.js";
import { startRedis, withoutRedis } from "../support/redis-service.js";
import { troubleOf } from "../support/shared-store.js";
import { waitFor } from "../support/wait-for.js";

describe.skipIf(withoutRedis)("the store in redis-server", () => {
  const server = useStoreServer(redisServer);
  const { open } = server;
  const trouble = (call: Promise<unknown>) => troubleOf(call, server.service.password);
  const command = async (...words: [string, ...string[]]) => {
    const client = server.service.connect();
    try {
      return await client.call(...words);
    } finally {
      client.disconnect();
    }
  };

  testServerFaults(server);

  test("reads from a replica, says why writes fail, and writes again after the failover", async () => {
    const store = open();
    await store.put("a", 1);
    await command("replicaof", "127.0.0.1", "1");
    try {
      expect((await store.get("a"))?.value).toBe(1);
      expect(await store.list("")).toContain("a");
      const error = await trouble(store.put("a", 2));
      expect(error).toMatchObject({ code: "UNAVAILABLE", retryable: true });
      expect(error.message).toContain("does not accept writes");
    } finally {
      await command("replicaof", "no", "one");
    }
    expect(await store.put("a", 3)).toBeGreaterThan(0);
  });

  test("fails with FULL when the server is out of memory, and keeps the old record", async () => {
    const store = open();
    const version = await store.put("a", "old");
    await command("config", "set", "maxmemory", "1");
    try {
      expect(await trouble(store.put("a", "new"))).toMatchObject({ code: "FULL" });
      expect(await store.get("a")).toMatchObject({ value: "old", version });
    } finally {
      await command("config", "set", "maxmemory", "0");
    }
  });

  test("never repeats a version or a fence after the server lost all data", async () => {
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

  test("removes expired records from the index with the next write", async () => {
    const store = open(server.service.url, "expiry");
    await store.put("a", 1, { ttlMs: 1 });
    await store.put("b", 1, { ttlMs: 1 });
    await waitFor(async () => (await store.list("")).length === 0);
    await store.put("c", 1);
    expect(await command("zrange", "{expiry}:index", "0", "-1")).toEqual(["c"]);
    expect(await command("zcard", "{expiry}:expiry")).toBe(0);
  });

  test("keeps the databases of one server apart", async () => {
    const [store, other] = [open(server.service.url.replace(/0$/, "1")), open()];
    const changed: string[] = [];
    store.watch("", (key) => changed.push(key));
    await other.put("elsewhere", 1);
    await store.put("here", 1);
    await waitFor(() => changed.includes("here"));
    expect(await store.get("elsewhere")).toBeUndefined();
    expect(changed).not.toContain("elsewhere");
  });
});

describe.skipIf(withoutRedis)("the store in a cluster of redis-server", () => {
  test("stores all its keys in one slot, and every operation works", async () => {
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
      const changed = new Set<string>();
      store.watch("", (key) => changed.add(key));
      const lease = await store.lease("l", { ttlMs: 10_000 });
      const version = await other.put("a", 1, { lease, secret: true });
      expect(await store.get("a")).toEqual({ value: 1, version, sealed: true });
      await waitFor(() => changed.has("a"));
      expect(await store.list("")).toEqual(["a"]);
      expect(await store.delete("a", { ifVersion: version })).toBe(true);
    } finally {
      await Promise.all(stores.map((store) => store.close()));
      cluster.disconnect();
    }
  });
});

testMissingPackage(redisServer);
