/** The store in Redis keeps the contract, by URL and through a client of the user's. */
import { Redis } from "ioredis";
import type { Store } from "toolport";
import { redisStore } from "toolport/redis";
import { afterAll, beforeAll, describe } from "vitest";
import { type RedisService, startRedis, withoutRedis } from "../support/redis-service.js";
import { describeStore } from "./store-contract.js";

const KEY = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

describe.skipIf(withoutRedis)("with redis-server", () => {
  let redis: RedisService;
  let count = 0;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis?.[Symbol.asyncDispose]());

  describe.each(["by URL", "with a client"])("%s", (how) => {
    describeStore("redis", async () => {
      const prefix = `{test-${++count}}:`;
      const handles: Store[] = [];
      const clients: Redis[] = [];
      const connect = () => {
        // The user's client may have a prefix of its own, and another database.
        const client = new Redis(redis.url, { keyPrefix: "app:" });
        clients.push(client);
        return client;
      };
      const open = (): Store => {
        const store = redisStore(how === "by URL" ? redis.url : connect(), { key: KEY, prefix });
        handles.push(store);
        return store;
      };
      return {
        store: open(),
        another: open,
        async contents() {
          const client = redis.connect();
          try {
            const keys = await client.keys(`*${prefix}record:*`);
            return JSON.stringify(await Promise.all(keys.map((key) => client.hgetall(key))));
          } finally {
            client.disconnect();
          }
        },
        async remove() {
          await Promise.all(handles.map((store) => store.close()));
          for (const client of clients) client.disconnect();
        },
      };
    });
  });
});
