/** An expired token is refreshed once, by one of eight processes that share a store. */
import { describe, expect, test } from "vitest";
import { type OAuthBench, startOAuthBench } from "../support/oauth-bench.js";
import { logIn } from "../support/oauth-browser.js";
import { CALLBACK_URL } from "../support/oauth-callback-url.js";
import { sharedStoreKinds } from "../support/oauth-stores.js";
import { type OAuthWorker, prepareWorkers } from "../support/oauth-workers.js";
import { useServer } from "../support/use-server.js";

const isLong = process.env["TOOLPORT_LONG"] !== undefined;
const EXPIRIES = isLong ? 20 : 3;
const PROCESSES = 8;
const CALLS = 7;

describe.each(sharedStoreKinds)("over $name", ({ missing, start }) => {
  const source = useServer(prepareWorkers);
  const shared = useServer(start);

  async function startWorkers(bench: OAuthBench, count: number): Promise<OAuthWorker[]> {
    const store = await shared.makePlace();
    const options = { mcpServers: { a: { url: bench.url } }, callbackUrl: CALLBACK_URL };
    const [first, ...others] = await Promise.all(
      Array.from({ length: count }, () => source.start({ store, options })),
    );
    const { authUrl } = (await first!.connect())["a"] ?? {};
    expect(await first!.callback(await logIn(authUrl as string))).toMatchObject({ status: 200 });
    return [first!, ...others];
  }

  test.skipIf(missing)(
    `${PROCESSES} processes, ${EXPIRIES} expiries, rotating refresh tokens: one token request each`,
    async () => {
      await using bench = await startOAuthBench();
      const workers = await startWorkers(bench, PROCESSES);
      for (let round = 1; round <= EXPIRIES; round++) {
        bench.expireAccessTokens();
        const answers = await Promise.all(
          workers.map((worker) => worker.call("a__whoami", { times: CALLS })),
        );
        expect(answers.flat()).toEqual(Array.from({ length: PROCESSES * CALLS }, () => ({ text: "ada" })));
        expect(bench.countTokens("refresh_token")).toBe(round);
      }
      expect(bench.revokedFamilies).toEqual([]);
      expect(bench.countTokens("authorization_code")).toBe(1);
      const codes = await Promise.all(workers.map((worker) => worker.close()));
      expect(new Set(codes)).toEqual(new Set([0]));
    },
    isLong ? 600_000 : 120_000,
  );
});
