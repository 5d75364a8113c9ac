/** Many processes behind a load balancer, over every shared store: any of them serves any user. */
import { createTestServer } from "toolport/testing";
import { describe, expect, test } from "vitest";
import { type OAuthBench, startOAuthBench } from "../support/oauth-bench.js";
import { logIn } from "../support/oauth-browser.js";
import { openStore, type StorePlace, sharedStoreKinds } from "../support/oauth-stores.js";
import { useServer } from "../support/use-server.js";
import { waitFor } from "../support/wait-for.js";
import { prepareClusters, type WebCluster, type WebWorker } from "../support/web-workers.js";

const USERS = ["ada", "grace"] as const;
const TOOL = "a__whoami";
const IDLE_MS = 500;
/** Calls in flight while a process is killed. */
const WIDTH = 6;

const source = useServer(prepareClusters);

describe.each(sharedStoreKinds)("over $name", ({ missing, start }) => {
  const shared = useServer(start);

  test.skipIf(missing)(
    "two logins serve two users in any process, one of them killed and replaced",
    async () => {
      await using bench = await startOAuthBench();
      await using bystander = createTestServer({ tools: { rest: { handler: () => "" } } });
      const mcpServers = { a: { url: bench.url }, other: { url: (await bystander.http()).url } };
      const place = await shared.makePlace();
      await using cluster = await source.start({
        store: place,
        count: 3,
        options: { mcpServers, idleTimeoutMs: IDLE_MS },
      });

      await logInAnywhere(cluster, bench, place);
      const discoveries = countRpc(bench, "server/discover");
      await connectOnDemand(cluster);
      await closeWhenIdle(cluster);
      // All processes share the metadata of the server: none requests it again.
      expect(countRpc(bench, "server/discover")).toBe(discoveries);
      expect(bench.countTokens()).toBe(USERS.length);

      await renewOnce(cluster, bench);
      await replaceKilled(cluster, bench);
      await renewOnce(cluster, bench);

      expect(bench.countPaths("/reg")).toBe(1);
      expect(bench.countPaths("/auth")).toBe(USERS.length);
      expect(bench.countTokens("authorization_code")).toBe(USERS.length);
      expect(bench.revokedFamilies).toEqual([]);
      const [, ...alive] = cluster.workers;
      expect(await Promise.all(alive.map((worker) => worker.close()))).toEqual([0, 0, 0]);
    },
    60_000,
  );
});

/** Both logins start at once in different processes, and end in another. */
async function logInAnywhere(cluster: WebCluster, bench: OAuthBench, place: StorePlace): Promise<void> {
  const [first, second, third] = cluster.balancer.ports;
  const begun = await Promise.all(USERS.map(async (user) => ({ user, ...(await cluster.call(user, TOOL)) })));
  for (const answer of begun) expect(answer).toMatchObject({ status: 401, code: "AUTH_REQUIRED" });
  // In the order in which they reached the balancer.
  begun.sort((one) => (one.by === first ? -1 : 1));
  const ended: unknown[] = [];
  for (const { user, authUrl } of begun)
    ended.push(await cluster.visit(await logIn(authUrl as string, user)));
  expect(begun.map(({ by }) => by)).toEqual([first, second]);
  expect(ended).toEqual([
    { status: 200, by: third },
    { status: 200, by: first },
  ]);
  expect(bench.countTokens("authorization_code")).toBe(USERS.length);
  // The processes that started the logins connect in the background, and save the lists.
  await waitFor(async () => {
    const states = await connectionsOf(cluster.workers);
    return USERS.every((user) => states.some((state) => state[`${user}/a`]?.opened === 1));
  });
  const store = openStore(place);
  await waitFor(async () => (await store.list("catalog/")).length === 2 * USERS.length);
  await store.close();
}

/** A process connects for a user on demand, and only the required server. */
async function connectOnDemand(cluster: WebCluster): Promise<void> {
  for (const user of USERS) {
    const states = await connectionsOf(cluster.workers);
    expect(states.filter((state) => `${user}/a` in state)).toHaveLength(1);
  }
  await callInTurn(cluster);
  const states = await connectionsOf(cluster.workers);
  for (const user of USERS) {
    expect(states.map((state) => state[`${user}/a`]?.opened ?? 0).every((opened) => opened > 0)).toBe(true);
    // The first process had to read the lists; the others found them in the store.
    expect(states.filter((state) => `${user}/other` in state)).toHaveLength(1);
  }
}

/** Idle connections close; the next call opens them again. */
async function closeWhenIdle(cluster: WebCluster): Promise<void> {
  await waitFor(async () => {
    const states = (await connectionsOf(cluster.workers)).flatMap((state) => Object.values(state));
    return states.every(({ state }) => state === "closed");
  });
  const before = await connectionsOf(cluster.workers);
  await callInTurn(cluster);
  const after = await connectionsOf(cluster.workers);
  for (const [index, state] of after.entries()) {
    for (const user of USERS)
      expect(state[`${user}/a`]?.opened).toBeGreaterThan(before[index]?.[`${user}/a`]?.opened as number);
  }
}

/** Many calls in all processes with expired tokens: one token request for each user. */
async function renewOnce(cluster: WebCluster, bench: OAuthBench): Promise<void> {
  const before = bench.countTokens("refresh_token");
  bench.expireAccessTokens();
  const users = Array.from({ length: 15 }, () => USERS).flat();
  const answers = await Promise.all(users.map((user) => cluster.call(user, TOOL)));
  expect(answers.map(({ text, code }) => text ?? code)).toEqual(users);
  expect(new Set(answers.map(({ by }) => by))).toEqual(new Set(cluster.balancer.ports));
  expect(bench.countTokens("refresh_token") - before).toBe(USERS.length);
}

/** A process dies during calls, and another replaces it while the users keep calling. */
async function replaceKilled(cluster: WebCluster, bench: OAuthBench): Promise<void> {
  const { balancer } = cluster;
  const [victim] = cluster.workers as [WebWorker];
  const tokens = bench.countTokens();
  let replaced: Promise<WebWorker> | undefined;
  let given = 0;
  balancer.onForwarded = (port) => {
    if (port !== victim.port || ++given < 5 || replaced !== undefined) return;
    replaced = victim.kill().then(() => cluster.start());
  };
  let lost = 0;
  let newcomer: WebWorker | undefined;
  const served = new Set<string>();
  const work = async (user: string) => {
    while (served.size < USERS.length) {
      const { status, text, by } = await cluster.call(user, TOOL);
      // Its process died, so the outcome is unknown; this call is idempotent and may be repeated.
      if (status === 502) lost += 1;
      else expect({ status, text }).toEqual({ status: 200, text: user });
      if (by !== undefined && by === newcomer?.port) served.add(user);
    }
  };
  const replace = async () => {
    await waitFor(() => replaced !== undefined);
    newcomer = await replaced;
  };
  const traffic = Array.from({ length: WIDTH }, (_, index) => work(USERS[index % USERS.length] as string));
  await Promise.all([replace(), ...traffic]);
  balancer.onForwarded = undefined;
  balancer.ports.splice(balancer.ports.indexOf(victim.port), 1);

  // One call of each client in flight, and one more that was forwarded before the balancer saw the process end.
  expect(lost).toBeLessThanOrEqual(2 * WIDTH);
  expect(bench.countTokens()).toBe(tokens);
  expect(Object.keys((await newcomer?.connections()) ?? {}).sort()).toEqual(["ada/a", "grace/a"]);
}

/** Every user calls every process: as many calls, one after the other, as there are processes. */
async function callInTurn(cluster: WebCluster): Promise<void> {
  for (const user of USERS)
    for (const _ of cluster.workers) expect(await cluster.call(user, TOOL)).toMatchObject({ text: user });
}

const connectionsOf = (workers: readonly WebWorker[]) =>
  Promise.all(workers.map((worker) => worker.connections()));

const countRpc = (bench: OAuthBench, method: string): number =>
  bench.resource.seen.filter(({ rpc }) => rpc === method).length;
