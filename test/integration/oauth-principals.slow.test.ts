/** Two users of one port at a protected server, many calls: no token is mixed up. */
import { createToolport, type Toolport } from "toolport";
import { expect, test } from "vitest";
import { interleaveUsers, USERS } from "../support/interleave-users.js";
import { type OAuthBench, startOAuthBench } from "../support/oauth-bench.js";
import { logIn } from "../support/oauth-browser.js";
import { CALLBACK_URL } from "../support/oauth-callback-url.js";

const CALLS = process.env["TOOLPORT_LONG"] === undefined ? 1_000 : 10_000;

const open = (bench: OAuthBench, more: object = {}) =>
  createToolport({ mcpServers: { a: { url: bench.url } }, callbackUrl: CALLBACK_URL, ...more });

async function logInAs(toolport: Toolport, user: string): Promise<void> {
  const { state, authUrl } = (await toolport.as(user).connect()).servers["a"] ?? {};
  expect(state).toBe("authenticating");
  // The state of the callback identifies the login.
  const response = await toolport.handleOAuthCallback(new Request(await logIn(authUrl as string, user)));
  expect(response.status).toBe(200);
}

test(`${CALLS} interleaved calls of two users, tokens expiring in between: none crosses`, async () => {
  await using bench = await startOAuthBench();
  await using toolport = open(bench);
  for (const user of USERS) await logInAs(toolport, user);
  expect(await interleaveUsers(toolport, "a__whoami", CALLS / 2)).toBe(0);
  bench.expireAccessTokens();
  expect(await interleaveUsers(toolport, "a__whoami", CALLS / 2)).toBe(0);
  expect(Object.fromEntries(bench.resource.calls)).toEqual({ ada: CALLS / 2, grace: CALLS / 2 });
  expect(bench.countTokens("refresh_token")).toBe(2);
  expect(bench.revokedFamilies).toEqual([]);
  // One client for the application; the authorization server knows the users.
  expect(bench.countPaths("/reg")).toBe(1);
});
