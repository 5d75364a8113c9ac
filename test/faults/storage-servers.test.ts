/** Faults of a database server behind a store: down, dying, slow, failing over, refusing; and many processes writing one row. */
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect } from "vitest";
import { transpileEverything } from "../fixtures/oauth-worker-source.js";
import { countTogether } from "../support/shared-store.js";
import { startTcpProxy, type TcpProxy } from "../support/tcp-proxy.js";
import { useServer } from "../support/use-server.js";
import { waitFor } from "../support/wait-for.js";
import { AS_WRITTEN, faultCase } from "./fault-case.js";
import type { FaultHarness } from "./fault-harness.js";
import {
  expectRecovery,
  expectTokensToSurvive,
  FIVE_SECONDS,
  openLoggedIn,
  openRig,
  warmUpStorage,
} from "./storage-rig.js";
import { type DatabaseKind, type DatabaseService, databaseKinds } from "./storage-servers.js";

const UPDATES = AS_WRITTEN ? 10_000 : 160;
/** One round trip of five seconds. */
const SLOW_MS = 2_500;
const TROUBLE = { code: "UNAVAILABLE", withinMs: FIVE_SECONDS } as const;

const makeKey = (harness: FaultHarness) => harness.secret(randomBytes(32).toString("base64"));

async function openProxy(
  harness: FaultHarness,
  service: DatabaseService,
): Promise<TcpProxy & { url: string }> {
  const proxy = await startTcpProxy(service.port);
  harness.atEnd(() => proxy[Symbol.asyncDispose]());
  harness.secret(service.password);
  return Object.assign(proxy, { url: service.url.replace(`:${service.port}`, `:${proxy.port}`) });
}

const source = useServer(() => transpileEverything({ useBuild: false }));
beforeAll(warmUpStorage);

describe.each(databaseKinds)("$name", (kind: DatabaseKind) => {
  const { name, openStore } = kind;
  const options = { skip: kind.missing, timeoutMs: 120_000 };
  let service: DatabaseService;
  beforeAll(async () => {
    if (kind.missing) return;
    service = await kind.start();
    // Loads the driver and creates the tables.
    const store = openStore(service.url, randomBytes(32).toString("base64"));
    await store.put("warm", 1);
    await store.close();
  });
  afterAll(() => service?.[Symbol.asyncDispose]());

  faultCase(
    "D06",
    `${name} down at start: reported, other servers work, and the store works later`,
    async (harness) => {
      const own = await startOwn(harness, kind);
      await own.stop();
      const store = openStore(own.url, makeKey(harness));
      const rig = await openRig(harness, store);
      await harness.fails(store.get("a"), TROUBLE);
      const { state, error } = await harness.within(FIVE_SECONDS, rig.toolport.connectServer("it"));
      expect({ state, error }).toMatchObject({
        state: "failed",
        error: { name: "StateError", code: "UNAVAILABLE", retryable: true },
      });
      expect(rig.warnings.length).toBeGreaterThan(0);
      await own.start();
      await rig.logIn();
      expect(await rig.whoami()).toBe("ada");
    },
    options,
  );

  faultCase(
    "D06",
    `${name} dies mid-run: valid tokens are used, an expired one waits`,
    async (harness) => {
      const own = await startOwn(harness, kind);
      const rig = await openLoggedIn(harness, openStore(own.url, makeKey(harness)));
      await own.kill();
      await expectTokensToSurvive(harness, rig, TROUBLE);
      await own.start();
      await expectRecovery(rig);
    },
    options,
  );

  faultCase(
    "D06",
    `${name} with 5 s latency: valid tokens are used, an expired one waits`,
    async (harness) => {
      const proxy = await openProxy(harness, service);
      const store = openStore(proxy.url, makeKey(harness));
      const rig = await openLoggedIn(harness, store);
      proxy.delayMs = SLOW_MS;
      const together = Promise.all([
        harness.fails(store.get("a"), TROUBLE),
        harness.fails(store.put("a", 1), TROUBLE),
        harness.fails(store.lease("a", { ttlMs: 1_000 }), TROUBLE),
        expectTokensToSurvive(harness, rig, TROUBLE),
      ]);
      await harness.within(2 * FIVE_SECONDS, together);
      proxy.delayMs = 0;
      await expectRecovery(rig);
    },
    options,
  );

  faultCase(
    "D06",
    `${name} fails over during a refresh: one refresh, kept by the new server`,
    async (harness) => {
      const first = await startOwn(harness, kind);
      const standby = await kind.startStandby(first);
      harness.atEnd(() => standby[Symbol.asyncDispose]());
      const proxy = await openProxy(harness, first);
      const key = makeKey(harness);
      const one = await openLoggedIn(harness, openStore(proxy.url, key));
      const { bench } = one;
      const two = await openRig(harness, openStore(proxy.url, key), bench);
      expect(await two.whoami()).toBe("ada");
      bench.expireAccessTokens();
      const { arrived, goOn } = holdTokenRequests(bench);
      const called = one.whoami();
      await arrived;
      await kind.catchUp(first, standby);
      await first.kill();
      await kind.promote(standby);
      proxy.target = standby.port;
      proxy.cut();
      const alsoCalled = two.whoami();
      // The lease was replicated, so the other process does not refresh as well, even with another clock.
      await new Promise((resolve) => setTimeout(resolve, 500));
      goOn();
      expect(await harness.within(FIVE_SECONDS, Promise.all([called, alsoCalled]))).toEqual(["ada", "ada"]);
      const three = await openRig(harness, openStore(standby.url, key), bench);
      expect(await three.whoami()).toBe("ada");
      await expectRecovery(three);
    },
    { ...options, timeoutMs: 120_000 },
  );

  faultCase(
    "D06",
    `${name} refuses the password: reported as such`,
    async (harness) => {
      const wrong = harness.secret();
      const store = openStore(service.url.replace(service.password, wrong), makeKey(harness));
      const { toolport } = await openRig(harness, store);
      const error = await harness.fails(store.put("a", 1), TROUBLE);
      expect(error.retryable).toBe(false);
      expect(error.message).toContain("refused the login");
      await harness.fails(toolport.callTool("it__whoami"), { ...TROUBLE, server: "it" });
    },
    options,
  );

  faultCase(
    "D06",
    `${name} does not accept writes (READONLY): valid tokens are used, an expired one waits`,
    async (harness) => {
      const store = openStore(service.url, makeKey(harness));
      const rig = await openLoggedIn(harness, store);
      await kind.setReadOnly(service, true);
      try {
        // Some servers notify their connections a moment later.
        await waitFor(() => store.put("a", 1).then(() => false, Boolean));
        const error = await harness.fails(store.put("a", 1), TROUBLE);
        expect(error.message).toContain("does not accept writes");
        await expectTokensToSurvive(harness, rig, TROUBLE);
      } finally {
        await kind.setReadOnly(service, false);
      }
      await waitFor(() => store.put("a", 1));
      await expectRecovery(rig);
    },
    options,
  );

  faultCase(
    "D06",
    `${name} out of reach for the holder of a lease: the lease expires, and the late write is refused`,
    async (harness) => {
      const proxy = await openProxy(harness, service);
      const key = makeKey(harness);
      const cutOff = harness.keep(openStore(proxy.url, key));
      const other = harness.keep(openStore(service.url, key));
      const lease = await cutOff.lease("refresh", { ttlMs: 1_500 });
      expect(await other.lease("refresh", { ttlMs: 1_500 })).toBeUndefined();
      proxy.target = 1;
      proxy.cut();
      await harness.fails(cutOff.put("token", "late", { lease }), TROUBLE);
      const next = await waitFor(() => other.lease("refresh", { ttlMs: 60_000 }));
      expect(next.fence).toBeGreaterThan(lease?.fence as number);
      expect(await other.put("token", "new", { lease: next })).toBeGreaterThan(0);
      proxy.target = service.port;
      expect(await waitFor(() => lease?.renew().then((held) => !held))).toBe(true);
      expect(await cutOff.put("token", "late", { lease })).toBeUndefined();
      expect((await cutOff.get("token"))?.value).toBe("new");
      await next.release();
    },
    options,
  );

  faultCase(
    "D05",
    `${name}, 8 processes, ${UPDATES} updates: none lost`,
    async () => {
      const { value } = await countTogether(
        { kind: kind.kind, url: service.url, total: UPDATES, folder: source.folder },
        (place) => kind.openShared(service.url, place),
      );
      expect(value).toBe(UPDATES);
    },
    { ...options, neighbour: false, timeoutMs: AS_WRITTEN ? 600_000 : 60_000 },
  );
});

/** A separate server that the test stops and starts. */
async function startOwn(harness: FaultHarness, kind: DatabaseKind): Promise<DatabaseService> {
  const service = await kind.start();
  harness.atEnd(() => service[Symbol.asyncDispose]());
  harness.secret(service.password);
  return service;
}

/** Delays token requests from now on. */
function holdTokenRequests(bench: Awaited<ReturnType<typeof openRig>>["bench"]) {
  let goOn = () => {};
  const released = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const arrived = new Promise<void>((resolve) => {
    bench.onTokenRequest = async (phase) => {
      if (phase === "arrived") resolve();
      await released;
      return undefined;
    };
  });
  return { arrived, goOn: () => goOn() };
}
