/** Redis and PostgreSQL are asked whether they keep what they acknowledge. */
import { Cluster } from "ioredis";
import { postgresStore } from "toolport/postgres";
import { redisStore } from "toolport/redis";
import { describe, expect, test } from "vitest";
import { KEY } from "../contract/server-stores.js";
import { failure } from "../support/failure.js";
import { startPostgres, withoutPostgres } from "../support/postgres-service.js";
import { startRedis, withoutRedis } from "../support/redis-service.js";
import { useServer } from "../support/use-server.js";
import { waitFor } from "../support/wait-for.js";
import { openBookings } from "./durability-scene.js";

describe.skipIf(withoutRedis)("Redis", () => {
  const redis = useServer(startRedis);

  const command = async (...words: [string, ...string[]]) => {
    const client = redis.connect();
    try {
      return await client.call(...words);
    } finally {
      client.disconnect();
    }
  };

  test("with AOF: no warning, and requireDurable suspends", async () => {
    const store = redisStore(redis.url, { key: KEY, prefix: "{aof}:" });
    expect(await store.durabilityRisk!()).toBeUndefined();
    await using scene = openBookings(store);
    expect(await scene.suspend({ requireDurable: true })).toMatchObject({ suspended: true });
    expect(scene.warnings).toEqual([]);
    await scene.toolport.close();
    await store.close();
  });

  test("without AOF: one warning for all users, and requireDurable sends nothing", async () => {
    await command("config", "set", "appendonly", "no");
    const store = redisStore(redis.url, { key: KEY, prefix: "{no-aof}:" });
    try {
      await using scene = openBookings(store);
      const error = await failure(scene.suspend({ requireDurable: true }));
      expect(error).toMatchObject({ code: "NOT_OFFERED", outcome: "unsent" });
      expect(error.message).toContain("aof_enabled:0");
      expect(error.message).toContain("`appendonly yes`");
      expect(error.message).not.toContain(redis.password);
      expect(scene.seen.requests).toBe(0);
      await scene.suspend({});
      await scene.suspend({}, scene.toolport.as("ada"));
      await scene.suspend({});
      expect(scene.warnings).toEqual([expect.stringContaining("aof_enabled:0")]);
      expect(scene.warnings[0]).toContain("`appendfsync always`");
    } finally {
      await store.close();
      await command("config", "set", "appendonly", "yes");
    }
  });

  test("refuses INFO: the risk says that it could not be checked", async () => {
    const password = "acl-canary-33";
    await command("acl", "setuser", "limited", "on", `>${password}`, "~*", "&*", "+@all", "-info");
    const url = `redis://limited:${password}@127.0.0.1:${redis.port}/0`;
    const store = redisStore(url, { key: KEY, prefix: "{acl}:" });
    try {
      expect(await store.durabilityRisk!()).toEqual({
        what: expect.stringContaining("could not be checked"),
        next: expect.stringContaining("Allow the user INFO"),
      });
      await using scene = openBookings(store);
      expect(await failure(scene.suspend({ requireDurable: true }))).toMatchObject({ code: "NOT_OFFERED" });
      expect(await scene.suspend({})).toMatchObject({ suspended: true });
      expect(scene.warnings).toEqual([expect.stringContaining("INFO persistence")]);
    } finally {
      await store.close();
    }
  });

  test("that is down fails the check, unsent", async () => {
    const store = redisStore("redis://127.0.0.1:1", { key: KEY });
    await using scene = openBookings(store);
    expect(await failure(scene.suspend({}))).toMatchObject({ code: "UNAVAILABLE", outcome: "unsent" });
    expect(scene.seen.requests).toBe(0);
    await store.close();
  });

  test("as a cluster: asks its primaries", async () => {
    await using node = await startRedis({ isCluster: true });
    const client = node.connect();
    await client.call("cluster", "addslotsrange", "0", "16383");
    await waitFor(async () => String(await client.call("cluster", "info")).includes("cluster_state:ok"), {
      timeoutMs: 10_000,
    });
    const cluster = new Cluster([{ host: "127.0.0.1", port: node.port }], {
      redisOptions: { password: node.password },
    });
    const store = redisStore(cluster, { key: KEY });
    try {
      expect(await store.durabilityRisk!()).toBeUndefined();
      await client.call("config", "set", "appendonly", "no");
      expect(await store.durabilityRisk!()).toMatchObject({ what: expect.stringContaining("aof_enabled:0") });
    } finally {
      await store.close();
      cluster.disconnect();
      client.disconnect();
    }
  });
});

describe.skipIf(withoutPostgres)("PostgreSQL", () => {
  const postgres = useServer(() => startPostgres({ fsync: "on" }));

  test.each(["on", "local", "off"])("with synchronous_commit %s", async (value) => {
    await postgres.run(`alter role toolport set synchronous_commit = '${value}'`);
    const store = postgresStore(postgres.url, { key: KEY });
    try {
      await using scene = openBookings(store);
      if (value === "off") {
        const error = await failure(scene.suspend({ requireDurable: true }));
        expect(error).toMatchObject({ code: "NOT_OFFERED", outcome: "unsent" });
        expect(error.message).toContain("Set synchronous_commit to on");
        await scene.suspend({});
        expect(scene.warnings).toEqual([expect.stringContaining("synchronous_commit is off")]);
      } else {
        expect(await scene.suspend({ requireDurable: true })).toMatchObject({ suspended: true });
        expect(scene.warnings).toEqual([]);
      }
    } finally {
      await store.close();
    }
  });

  test("with fsync off", async () => {
    await using careless = await startPostgres();
    const store = postgresStore(careless.url, { key: KEY });
    expect(await store.durabilityRisk!()).toEqual({
      what: expect.stringContaining("fsync is off"),
      next: "Set fsync to on",
    });
    await store.close();
  });
});
