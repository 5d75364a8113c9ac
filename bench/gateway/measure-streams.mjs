/** What open streams cost: thousands of `subscriptions/listen` on one replica. */
import { connectClient, sendMany } from "./client.mjs";
import { headersOf, toolport } from "./contenders.mjs";

/** Streams of one user. A gateway allows 64 requests of one user at the same time. */
const PER_USER = 40;

export async function measureStreams({ count }) {
  const contender = toolport("streams", { via: "stdio", era: "modern", nodeArgs: ["--expose-gc"] });
  const processes = await contender.start({ serverEnv: {} });
  const ask = () =>
    new Promise((resolve) => {
      processes.child.once("message", resolve);
      processes.child.send("figures");
    });
  const clients = [];
  const streams = [];
  try {
    for (let user = 0; user * PER_USER < count; user += 1)
      clients.push(
        await connectClient({ ...processes, headers: await headersOf(`user-${user}`), era: contender.era }),
      );
    const call = async (client, calls) => {
      const echo = client.call("echo", { text: "hello" });
      await sendMany(client, echo, { count: calls, inFlight: 8, expected: "hello" });
    };
    const open = async (client) => {
      const listen = client.prepare("subscriptions/listen", { notifications: { toolsListChanged: true } });
      streams.push(...(await Promise.all(Array.from({ length: PER_USER }, () => client.open(listen)))));
    };
    // Users, their servers and every module are there before the first figure.
    const [first, ...others] = clients;
    for (const client of clients) await call(client, 5);
    await open(first);
    const before = await ask();
    await call(first, CALLS);
    const afterCalls = await ask();
    for (const client of others) await open(client);
    const after = await ask();
    await call(first, CALLS);
    const opened = streams.length - PER_USER;
    const heapKb = (after.heapBytes - before.heapBytes) / opened / 1_024;
    const rssKb = (after.rssBytes - before.rssBytes) / opened / 1_024;
    const operations = afterCalls.storeOperations - before.storeOperations;
    const what = `${streams.length} open streams of ${clients.length} users`;
    return [
      { name: `${what}: heap of one, KB`, value: heapKb.toFixed(1), limit: 15, isMet: heapKb <= 15 },
      { name: `${what}: memory of the process for one, KB`, value: rssKb.toFixed(1), isMet: true },
      {
        name: `store operations in ${CALLS} calls`,
        value: String(operations),
        limit: 0,
        isMet: operations === 0,
      },
    ];
  } finally {
    for (const stream of streams) stream.destroy();
    for (const client of clients) client.close();
    await processes.stop();
    processes.stopUpstream();
  }
}

const CALLS = 500;
