/** Faults of a token that many processes share: one refreshes it, the others use the result, and one may die while refreshing. */
import { afterAll, beforeAll, expect } from "vitest";
import type { OAuthBench, TokenPhase } from "../support/oauth-bench.js";
import { logIn } from "../support/oauth-browser.js";
import { CALLBACK_URL } from "../support/oauth-callback-url.js";
import { ownerOfPort } from "../support/oauth-socket-owner.js";
import { makeSqlitePlace } from "../support/oauth-stores.js";
import {
  type OAuthWorker,
  prepareWorkers,
  type WorkerCall,
  type WorkerSource,
} from "../support/oauth-workers.js";
import { atMost } from "./at-most.js";
import { AS_WRITTEN, bound, faultCase } from "./fault-case.js";
import type { FaultHarness } from "./fault-harness.js";
import { openBench, warmUpOAuth } from "./oauth-setup.js";

const CYCLES = bound(4, 20);
const CALLS = 5;
/** Shorter than a lease: no process waits for the lease of a dead process to expire. */
const TAKEOVER_MS = 2_000;

let source: WorkerSource;
beforeAll(async () => {
  await warmUpOAuth();
  source = await prepareWorkers();
});
afterAll(() => source?.[Symbol.dispose]());

/** Processes over one SQLite file, with a user logged in. */
async function startWorkers(harness: FaultHarness, bench: OAuthBench, count: number): Promise<OAuthWorker[]> {
  const place = makeSqlitePlace();
  harness.atEnd(() => place[Symbol.dispose]());
  const options = { mcpServers: { it: { url: bench.url } }, callbackUrl: CALLBACK_URL };
  const { kind, at, key } = place;
  const start = async () => {
    const worker = await source.start({ store: { kind, at, key }, options });
    harness.atEnd(() => worker.kill());
    return worker;
  };
  const workers = await Promise.all(Array.from({ length: count }, start));
  const { authUrl } = (await workers[0]!.connect())["it"] ?? {};
  expect(await workers[0]!.callback(await logIn(authUrl as string))).toMatchObject({ status: 200 });
  await callAll(workers);
  // The neighbour runs in this process and is started after them, because their start makes the machine busy.
  harness.open({});
  return workers;
}

/** All call at once; a process that dies gives no result. */
async function callAll(workers: readonly OAuthWorker[], times = CALLS): Promise<WorkerCall[]> {
  const settled = await Promise.allSettled(workers.map((worker) => worker.call("it__whoami", { times })));
  return settled.flatMap((result) => (result.status === "fulfilled" ? result.value : []));
}

faultCase(
  "A02",
  `${CYCLES} expiries over SQLite`,
  async (harness) => {
    const bench = await openBench(harness);
    const workers = await startWorkers(harness, bench, 8);
    for (let cycle = 1; cycle <= CYCLES; cycle++) {
      bench.expireAccessTokens();
      expect(await callAll(workers)).toEqual(Array.from({ length: 8 * CALLS }, () => ({ text: "ada" })));
      expect(bench.countTokens("refresh_token")).toBe(cycle);
    }
    expect(bench.revokedFamilies).toEqual([]);
    expect(bench.countTokens("authorization_code")).toBe(1);
  },
  { timeoutMs: AS_WRITTEN ? 600_000 : 90_000 },
);

interface Death {
  requests: number;
  victim: OAuthWorker | undefined;
  at: number;
}

/** Counts token requests, and kills the process that sends the first one when the request reaches this phase. */
function killFirst(bench: OAuthBench, workers: readonly OAuthWorker[], phase: TokenPhase): Death {
  const death: Death = { requests: 0, victim: undefined, at: 0 };
  const pids = workers.map(({ pid }) => pid);
  bench.onTokenRequest = async (now, remotePort) => {
    if (now === "arrived") death.requests += 1;
    if (now !== phase || death.victim !== undefined) return undefined;
    const pid = ownerOfPort(remotePort, pids);
    death.victim = workers.find((worker) => worker.pid === pid);
    await death.victim?.kill();
    death.at = performance.now();
    return "drop";
  };
  return death;
}

/** The results of the others after one process died, and how long after that the last one came. */
async function callUnderFire(
  bench: OAuthBench,
  workers: readonly OAuthWorker[],
  phase: TokenPhase,
): Promise<{ death: Death; answers: WorkerCall[]; tookMs: number }> {
  const death = killFirst(bench, workers, phase);
  bench.expireAccessTokens();
  const answers = await callAll(workers);
  expect(death.victim).toBeDefined();
  expect(answers).toHaveLength((workers.length - 1) * CALLS);
  return { death, answers, tookMs: performance.now() - death.at };
}

faultCase(
  "A04",
  "winner killed after the authorization server rotated, before it saved",
  async (harness) => {
    const bench = await openBench(harness);
    const workers = await startWorkers(harness, bench, 3);
    const { death, answers, tookMs } = await callUnderFire(bench, workers, "answered");
    expect(new Set(answers.map(({ error }) => error?.code))).toEqual(new Set(["AUTH_REQUIRED"]));
    expect(tookMs).toBeLessThanOrEqual(atMost(TAKEOVER_MS));
    expect(death.requests).toBe(2);
    // No process uses the revoked token again, and a login repairs everything.
    const left = workers.filter((worker) => worker !== death.victim);
    await callAll(left);
    expect(death.requests).toBe(2);
    const authUrl = answers.at(-1)?.error?.authUrl as string;
    expect(await left[0]!.callback(await logIn(authUrl))).toMatchObject({ status: 200 });
    expect(new Set((await callAll(left)).map(({ text }) => text))).toEqual(new Set(["ada"]));
  },
  { timeoutMs: 120_000 },
);

faultCase(
  "A04",
  "winner killed before the authorization server saw its request",
  async (harness) => {
    const bench = await openBench(harness);
    const workers = await startWorkers(harness, bench, 3);
    const { death, answers, tookMs } = await callUnderFire(bench, workers, "arrived");
    expect(new Set(answers.map(({ text }) => text))).toEqual(new Set(["ada"]));
    expect(tookMs).toBeLessThanOrEqual(atMost(TAKEOVER_MS));
    expect(death.requests).toBe(2);
    expect(bench.revokedFamilies).toEqual([]);
  },
  { timeoutMs: 120_000 },
);
