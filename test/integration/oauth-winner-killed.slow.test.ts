/** The refreshing process dies by kill -9: the others make at most one more request, or ask for a login. */
import { describe, expect, test } from "vitest";
import { type OAuthBench, startOAuthBench, type TokenPhase } from "../support/oauth-bench.js";
import { logIn } from "../support/oauth-browser.js";
import { CALLBACK_URL } from "../support/oauth-callback-url.js";
import { ownerOfPort } from "../support/oauth-socket-owner.js";
import { sharedStoreKinds } from "../support/oauth-stores.js";
import { type OAuthWorker, prepareWorkers, type WorkerCall } from "../support/oauth-workers.js";
import { useServer } from "../support/use-server.js";
import { waitFor } from "../support/wait-for.js";

const isLong = process.env["TOOLPORT_LONG"] !== undefined;
const RANDOM_ROUNDS = isLong ? 20 : 1;
const PROCESSES = 3;
/** Waiting for the lease of a dead process takes long, so these tests run in parallel. */
const TIMEOUT_MS = 120_000;

const source = useServer(prepareWorkers);

describe.concurrent.each(sharedStoreKinds)("over $name", ({ name, missing, start }) => {
  /** The rules are the same over every store; the rare cases run over all of them only in the long run. */
  const isRare = missing || (name !== "SQLite" && !isLong);
  const shared = useServer(start);

  async function startWorkers(bench: OAuthBench): Promise<OAuthWorker[]> {
    const store = await shared.makePlace();
    const options = { mcpServers: { a: { url: bench.url } }, callbackUrl: CALLBACK_URL };
    const settings = { store, options };
    const workers = await Promise.all(Array.from({ length: PROCESSES }, () => source.start(settings)));
    const { authUrl } = (await workers[0]!.connect())["a"] ?? {};
    await workers[0]!.callback(await logIn(authUrl as string));
    const answers = await Promise.all(workers.map((worker) => worker.call("a__whoami")));
    expect(new Set(answers.flat().map(({ text }) => text))).toEqual(new Set(["ada"]));
    return workers;
  }

  /** All call at once; a process that dies gives no result. */
  const callAll = async (workers: readonly OAuthWorker[]): Promise<WorkerCall[]> => {
    const settled = await Promise.allSettled(workers.map((worker) => worker.call("a__whoami", { times: 3 })));
    return settled.flatMap((result) => (result.status === "fulfilled" ? result.value : []));
  };

  /** Counts token requests, and kills the process that sends the first one when the request reaches this phase. */
  function killFirst(bench: OAuthBench, workers: readonly OAuthWorker[], phase: TokenPhase) {
    const seen = { requests: 0, killed: undefined as OAuthWorker | undefined };
    bench.onTokenRequest = async (now, remotePort) => {
      if (now === "arrived") seen.requests += 1;
      if (now !== phase || seen.killed !== undefined) return undefined;
      const pid = ownerOfPort(
        remotePort,
        workers.map((worker) => worker.pid),
      );
      seen.killed = workers.find((worker) => worker.pid === pid);
      await seen.killed?.kill();
      return "drop";
    };
    return seen;
  }

  const endAll = (workers: readonly OAuthWorker[]) => Promise.all(workers.map((worker) => worker.kill()));

  test.skipIf(missing)(
    "before the authorization server saw the request: another process refreshes",
    { timeout: TIMEOUT_MS },
    async () => {
      await using bench = await startOAuthBench();
      const workers = await startWorkers(bench);
      const seen = killFirst(bench, workers, "arrived");
      bench.expireAccessTokens();
      const answers = await callAll(workers);
      expect(seen.killed).toBeDefined();
      expect(answers).toEqual(Array.from({ length: (PROCESSES - 1) * 3 }, () => ({ text: "ada" })));
      expect(seen.requests).toBe(2);
      expect(bench.revokedFamilies).toEqual([]);
      await endAll(workers);
    },
  );

  test.skipIf(missing)(
    "after the refresh token was rotated: one more request, then a login is asked for, and works",
    { timeout: TIMEOUT_MS },
    async () => {
      await using bench = await startOAuthBench();
      const workers = await startWorkers(bench);
      const seen = killFirst(bench, workers, "answered");
      bench.expireAccessTokens();
      const answers = await callAll(workers);
      expect(seen.killed).toBeDefined();
      expect(answers).toHaveLength((PROCESSES - 1) * 3);
      expect(new Set(answers.map(({ error }) => error?.code))).toEqual(new Set(["AUTH_REQUIRED"]));
      expect(seen.requests).toBe(2);
      // No process uses the revoked token again.
      const left = workers.filter((worker) => worker !== seen.killed);
      await callAll(left);
      expect(seen.requests).toBe(2);
      const authUrl = answers.at(-1)?.error?.authUrl as string;
      expect(await left[0]!.callback(await logIn(authUrl))).toMatchObject({ status: 200 });
      expect(new Set((await callAll(left)).map(({ text }) => text))).toEqual(new Set(["ada"]));
      await endAll(workers);
    },
  );

  test.skipIf(isRare)(
    `at a random moment, ${RANDOM_ROUNDS} times: at most one more request, and never a loop`,
    { timeout: TIMEOUT_MS * RANDOM_ROUNDS },
    async () => {
      for (let round = 0; round < RANDOM_ROUNDS; round++) {
        await using bench = await startOAuthBench();
        const workers = await startWorkers(bench);
        let requests = 0;
        let fate: Promise<void> | undefined;
        bench.onTokenRequest = (phase, remotePort) => {
          if (phase === "arrived") requests += 1;
          const pid = ownerOfPort(
            remotePort,
            workers.map((worker) => worker.pid),
          );
          const winner = workers.find((worker) => worker.pid === pid);
          fate ??= new Promise((resolve) => {
            setTimeout(() => resolve(winner?.kill()), Math.random() * 30);
          });
          return undefined;
        };
        bench.expireAccessTokens();
        const answers = await callAll(workers);
        await fate;
        const outcomes = new Set(answers.map(({ text, error }) => text ?? error?.code));
        expect([new Set(["ada"]), new Set(["AUTH_REQUIRED"])]).toContainEqual(outcomes);
        expect(requests).toBeLessThanOrEqual(2);
        await endAll(workers);
      }
    },
  );

  test.skipIf(isRare)(
    "a process that lost its lease while stopped uses the newer token, and deletes nothing",
    { timeout: TIMEOUT_MS },
    async () => {
      await using bench = await startOAuthBench();
      const workers = await startWorkers(bench);
      let sleeper: OAuthWorker | undefined;
      let wake = () => {};
      const awake = new Promise<void>((resolve) => {
        wake = resolve;
      });
      let requests = 0;
      bench.onTokenRequest = async (phase, remotePort) => {
        if (phase !== "arrived") return undefined;
        requests += 1;
        if (sleeper !== undefined) return undefined;
        const pid = ownerOfPort(
          remotePort,
          workers.map((worker) => worker.pid),
        );
        sleeper = workers.find((worker) => worker.pid === pid);
        process.kill(sleeper!.pid, "SIGSTOP");
        await awake;
        return "invalid_grant";
      };
      bench.expireAccessTokens();
      const calls = workers.map((worker) => ({ worker, answers: worker.call("a__whoami") }));
      await waitFor(() => sleeper !== undefined);
      const others = calls.filter(({ worker }) => worker !== sleeper);
      const answers = await Promise.all(others.map((call) => call.answers));
      expect(new Set(answers.flat().map(({ text }) => text))).toEqual(new Set(["ada"]));
      expect(requests).toBe(2);
      wake();
      process.kill(sleeper!.pid, "SIGCONT");
      // Its request timed out, which fails only this call.
      const [answer] = (await calls.find(({ worker }) => worker === sleeper)?.answers) ?? [];
      expect(["ada", "AUTH_FAILED"]).toContain(answer?.text ?? answer?.error?.code);
      expect(new Set((await callAll(workers)).map(({ text }) => text))).toEqual(new Set(["ada"]));
      expect(requests).toBe(2);
      expect(bench.revokedFamilies).toEqual([]);
      await endAll(workers);
    },
  );
});
