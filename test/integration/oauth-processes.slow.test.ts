/** A login started in one process and finished in another, over every shared store. */
import { createToolport } from "toolport";
import { describe, expect, test } from "vitest";
import { startOAuthBench } from "../support/oauth-bench.js";
import { logIn } from "../support/oauth-browser.js";
import { CALLBACK_URL } from "../support/oauth-callback-url.js";
import { openStore, sharedStoreKinds } from "../support/oauth-stores.js";
import { prepareWorkers } from "../support/oauth-workers.js";
import { useServer } from "../support/use-server.js";
import { waitFor } from "../support/wait-for.js";

const workers = useServer(prepareWorkers);

describe.each(sharedStoreKinds)("over $name", ({ missing, start }) => {
  const shared = useServer(start);

  test.skipIf(missing)("another process answers the callback; both are logged in by one code", async () => {
    await using bench = await startOAuthBench();
    const place = await shared.makePlace();
    const mcpServers = { a: { url: bench.url } };
    const store = openStore(place);
    const toolport = createToolport({ mcpServers, callbackUrl: CALLBACK_URL, store });
    try {
      const { authUrl, state } = (await toolport.connect()).servers["a"] ?? {};
      expect(state).toBe("authenticating");
      const worker = await workers.start({
        store: place,
        options: { mcpServers, callbackUrl: CALLBACK_URL },
      });
      const back = await logIn(authUrl as string);
      expect(await worker.callback(back)).toMatchObject({ status: 200 });
      expect(await worker.call("a__whoami")).toEqual([{ text: "ada" }]);
      expect((await toolport.callTool("a__whoami")).text).toBe("ada");
      await waitFor(() => toolport.snapshot().servers["a"]?.state === "ready");

      // The same browser page, loaded again at a third process, changes nothing.
      const third = await workers.start({ store: place, options: { mcpServers, callbackUrl: CALLBACK_URL } });
      const replayed = await third.callback(back);
      expect(replayed.status).toBeGreaterThanOrEqual(400);
      expect(await third.call("a__whoami")).toEqual([{ text: "ada" }]);
      expect(bench.countTokens()).toBe(1);
      expect(bench.countPaths("/reg")).toBe(1);
      expect(bench.revokedFamilies).toEqual([]);

      bench.expireAccessTokens();
      expect(await worker.call("a__whoami")).toEqual([{ text: "ada" }]);
      expect((await toolport.callTool("a__whoami")).text).toBe("ada");
      expect(bench.countTokens("refresh_token")).toBe(1);

      bench.revokeGrants();
      const [refused] = await worker.call("a__whoami");
      expect(refused?.error).toMatchObject({
        code: "AUTH_REQUIRED",
        authUrl: expect.stringContaining(bench.issuer),
      });
      const again = await logIn(refused?.error?.authUrl as string, "grace");
      expect((await toolport.handleOAuthCallback(new Request(again))).status).toBe(200);
      expect(await worker.call("a__whoami")).toEqual([{ text: "grace" }]);
      expect([await worker.close(), await third.close()]).toEqual([0, 0]);
    } finally {
      await toolport.close();
      await store.close();
    }
  });
});
