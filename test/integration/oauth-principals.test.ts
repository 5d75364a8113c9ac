/** Two users of one port at a protected server: each has its own login, and no token is mixed up. */
import { type AuthError, createToolport, type Toolport } from "toolport";
import { expect, test } from "vitest";
import { failure } from "../support/failure.js";
import { interleaveUsers, USERS } from "../support/interleave-users.js";
import { type OAuthBench, startOAuthBench } from "../support/oauth-bench.js";
import { logIn } from "../support/oauth-browser.js";
import { CALLBACK_URL } from "../support/oauth-callback-url.js";
import { makeSqlitePlace, openStore } from "../support/oauth-stores.js";

const open = (bench: OAuthBench, more: object = {}) =>
  createToolport({ mcpServers: { a: { url: bench.url } }, callbackUrl: CALLBACK_URL, ...more });

async function logInAs(toolport: Toolport, user: string): Promise<void> {
  const { state, authUrl } = (await toolport.as(user).connect()).servers["a"] ?? {};
  expect(state).toBe("authenticating");
  // The state of the callback identifies the login.
  const response = await toolport.handleOAuthCallback(new Request(await logIn(authUrl as string, user)));
  expect(response.status).toBe(200);
}

test("200 interleaved calls of two users, tokens expiring in between: none crosses", async () => {
  await using bench = await startOAuthBench();
  await using toolport = open(bench);
  for (const user of USERS) await logInAs(toolport, user);
  expect(await interleaveUsers(toolport, "a__whoami", 100)).toBe(0);
  bench.expireAccessTokens();
  expect(await interleaveUsers(toolport, "a__whoami", 100)).toBe(0);
  expect(Object.fromEntries(bench.resource.calls)).toEqual({ ada: 100, grace: 100 });
  expect(bench.countTokens("refresh_token")).toBe(2);
  expect(bench.revokedFamilies).toEqual([]);
  // One client for the application; the authorization server knows the users.
  expect(bench.countPaths("/reg")).toBe(1);
});

test("parallel logins share one client: the application registers once", async () => {
  await using bench = await startOAuthBench();
  await using toolport = open(bench);
  const users = Array.from({ length: 10 }, (_, index) => `user ${index}`);
  const reports = await Promise.all(users.map((user) => toolport.as(user).connect()));
  const logins = new Set(reports.map(({ servers }) => servers["a"]?.authUrl));
  expect(logins.size).toBe(users.length);
  expect(bench.countPaths("/reg")).toBe(1);
});

test("the login does not log in the plain port or other users", async () => {
  await using bench = await startOAuthBench();
  await using toolport = open(bench);
  await logInAs(toolport, "ada");
  expect((await toolport.as("ada").callTool("a__whoami")).text).toBe("ada");
  for (const port of [toolport, toolport.as("grace"), toolport.as("Ada"), toolport.as("ada/")]) {
    expect(await failure<AuthError>(port.callTool("a__whoami"))).toMatchObject({ code: "AUTH_REQUIRED" });
  }
});

test("the revocation of one user affects only that user", async () => {
  await using bench = await startOAuthBench();
  await using toolport = open(bench);
  for (const user of USERS) await logInAs(toolport, user);
  bench.revokeGrants("ada");
  const error = await failure<AuthError>(toolport.as("ada").callTool("a__whoami"));
  expect(error).toMatchObject({ code: "AUTH_REQUIRED" });
  expect((await toolport.as("grace").callTool("a__whoami")).text).toBe("grace");
  expect(toolport.as("grace").snapshot().servers["a"]).toMatchObject({ state: "ready" });
});

test("a user cannot finish another user's login", async () => {
  await using bench = await startOAuthBench();
  await using toolport = open(bench);
  const { authUrl } = (await toolport.as("ada").connect()).servers["a"] ?? {};
  await toolport.as("grace").connect();
  const back = await logIn(authUrl as string, "ada");
  expect(await failure(toolport.as("grace").finishAuth("a", back.searchParams))).toMatchObject({
    name: "AuthError",
  });
  expect(await failure(toolport.as("grace").callTool("a__whoami"))).toMatchObject({ code: "AUTH_REQUIRED" });
  expect(bench.countTokens()).toBe(0);
  await toolport.as("ada").finishAuth("a", back.searchParams);
  expect((await toolport.as("ada").callTool("a__whoami")).text).toBe("ada");
});

test("after a restart from a file each user is logged in as before", async () => {
  await using bench = await startOAuthBench();
  using place = makeSqlitePlace();
  for (const isFirst of [true, false]) {
    const store = openStore(place);
    const toolport = open(bench, { store });
    try {
      if (isFirst) for (const user of USERS) await logInAs(toolport, user);
      for (const user of USERS) expect((await toolport.as(user).callTool("a__whoami")).text).toBe(user);
    } finally {
      await toolport.close();
      await store.close();
    }
  }
  expect(bench.countTokens()).toBe(2);
});
