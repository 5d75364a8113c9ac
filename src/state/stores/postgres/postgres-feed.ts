/** Hears of changes through LISTEN and NOTIFY, on a connection of its own. */
import type { ChangeFeed, FeedListener } from "../change-feed.js";
import type { LimitedCall } from "../limited-calls.js";
import type { PostgresSource } from "./postgres-source.js";

export interface PostgresFeedOptions {
  limited: LimitedCall;
  listener: FeedListener;
  channel: string;
  changedWithin: ChangeFeed["changedWithin"];
}

/** A key too long for a notice: it was changed just now. */
const JUST_NOW_MS = 10_000;

/** Listens; rejects if that is not possible now. */
export async function openPostgresFeed(
  source: PostgresSource,
  { limited, listener, channel, changedWithin }: PostgresFeedOptions,
): Promise<ChangeFeed> {
  const { client, close } = await source.listener();
  client.on("notification", ({ payload = "" }) => {
    if (payload !== "") return listener.onKey(payload);
    changedWithin(JUST_NOW_MS).then(
      (keys) => keys.forEach(listener.onKey),
      // Whatever keeps us from asking also costs us the connection sooner or later; then all is asked again.
      listener.onLost,
    );
  });
  client.once("error", listener.onLost);
  // The driver does not say how connecting went if it was ended meanwhile.
  const ended = new Promise<never>((_resolve, reject) => {
    client.once("end", () => {
      listener.onLost();
      reject(new Error("The connection was closed"));
    });
  });
  ended.catch(() => {});
  const listen = async () => {
    await client.connect();
    await client.query(`listen "${channel}"`);
  };
  try {
    await limited(() => Promise.race([listen(), ended]));
  } catch (error) {
    close();
    throw error;
  }
  return {
    changedWithin,
    async check() {
      await limited(() => client.query("select 1"));
    },
    close,
  };
}
