/** A server that refuses everything: a few requests, one error, and no loop. */
import { type AuthError, createToolport, type Toolport } from "toolport";
import { expect, test } from "vitest";
import { failure } from "../support/failure.js";
import { type OAuthBench, startOAuthBench } from "../support/oauth-bench.js";
import { logIn } from "../support/oauth-browser.js";
import { CALLBACK_URL } from "../support/oauth-callback-url.js";

async function openLoggedIn(bench: OAuthBench): Promise<Toolport> {
  const toolport = createToolport({ mcpServers: { a: { url: bench.url } }, callbackUrl: CALLBACK_URL });
  const { authUrl } = (await toolport.connect()).servers["a"] ?? {};
  await toolport.finishAuth("a", (await logIn(authUrl as string)).searchParams);
  return toolport;
}

test("every token refused with 401: at most two token requests for a call, then a login is asked for", async () => {
  await using bench = await startOAuthBench();
  await using toolport = await openLoggedIn(bench);
  bench.refusal = "invalid_token";
  const before = bench.countTokens();
  bench.resource.seen.length = 0;
  const error = await failure<AuthError>(toolport.callTool("a__whoami"));
  expect(error).toMatchObject({ name: "AuthError", code: "AUTH_REQUIRED" });
  expect(error.authUrl).toBeDefined();
  expect(bench.countTokens() - before).toBeLessThanOrEqual(2);
  expect(bench.resource.seen.filter(({ status }) => status === 401).length).toBeLessThanOrEqual(4);

  bench.refusal = undefined;
  await toolport.finishAuth("a", (await logIn(error.authUrl as string)).searchParams);
  expect((await toolport.callTool("a__whoami")).text).toBe("ada");
});

test("scope always refused: one step-up for each call, and a typed error", async () => {
  await using bench = await startOAuthBench();
  await using toolport = await openLoggedIn(bench);
  bench.refusal = "insufficient_scope";
  for (const attempt of [1, 2]) {
    const before = bench.countTokens();
    const error = await failure<AuthError>(toolport.callTool("a__erase"));
    expect(error, `attempt ${attempt}`).toMatchObject({ name: "AuthError" });
    expect(bench.countTokens() - before).toBeLessThanOrEqual(2);
    if (error.authUrl !== undefined) {
      await toolport.finishAuth("a", (await logIn(error.authUrl)).searchParams);
    }
  }
  expect((await toolport.callTool("a__whoami")).text).toBe("ada");
});

test("a connect that is refused with fresh tokens does not request more tokens in the background", async () => {
  await using bench = await startOAuthBench();
  bench.refusal = "invalid_token";
  await using toolport = createToolport({ mcpServers: { a: { url: bench.url } }, callbackUrl: CALLBACK_URL });
  const { authUrl } = (await toolport.connect()).servers["a"] ?? {};
  await toolport.finishAuth("a", (await logIn(authUrl as string)).searchParams).catch(() => {});
  const tokens = bench.countTokens();
  const requests = bench.resource.seen.length;
  expect(toolport.snapshot().servers["a"]?.state).not.toBe("ready");
  // Longer than the first reconnects would take.
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  expect(bench.countTokens()).toBe(tokens);
  expect(bench.resource.seen.length).toBe(requests);
  expect(tokens).toBeLessThanOrEqual(3);
});
