/** Hears of changes through publish and subscribe, on a connection of its own. */
import type { ChangeFeed, FeedListener } from "../change-feed.js";
import type { LimitedCall } from "../limited-calls.js";
import type { RedisClient, RedisSource } from "./redis-source.js";

export interface RedisFeedOptions {
  limited: LimitedCall;
  listener: FeedListener;
  channelOf: (client: RedisClient) => string;
  changedWithin: ChangeFeed["changedWithin"];
}

/** Longer than from one check to the next. */
const RECENTLY_MS = 30_000;

/** Subscribes; rejects if that is not possible now. */
export async function openRedisFeed(
  source: RedisSource,
  { limited, listener, channelOf, changedWithin }: RedisFeedOptions,
): Promise<ChangeFeed> {
  const client = await source.subscriber();
  const close = () => source.drop(client);
  client.on("message", (_channel: string, key: string) => listener.onKey(key));
  client.once("close", listener.onLost);
  try {
    await limited(() => client.subscribe(channelOf(client)));
  } catch (error) {
    close();
    throw error;
  }
  return {
    changedWithin,
    async check() {
      await limited(() => client.ping());
      // A cluster's client moves its subscription from node to node by itself, without a word.
      if (client.isCluster) (await changedWithin(RECENTLY_MS)).forEach(listener.onKey);
    },
    close,
  };
}
