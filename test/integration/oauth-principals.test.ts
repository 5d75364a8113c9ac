/** Two users of one port at a protected server: each has its own login, and no token is mixed up. */
import type { AuthError } from "toolport";
import { expect, test } from "vitest";
import { failure } from "../support/failure.js";
import { expectNoCrossedTokens, logInAs, openProtected, USERS } from "../support/interleave-users.js";
import { startOAuthBench } from "../support/oauth-bench.js";
import { logIn } from "../support/oauth-browser.js";
import { makeSqlitePlace, openStore } from "../support/oauth-stores.js";

test("200 interleaved calls of two users, tokens expiring in between: none crosses", () =>
  expectNoCrossedTokens(200));

test("parallel logins share one client: the application registers once", async () => {
  await using bench = await startOAuthBench();
  await using toolport = openProtected(bench);
  const users = Array.from({ length: 10 }, (_, index) => `user ${index}`);
  const reports = await Promise.all(users.map((user) => toolport.as(user).connect()));
  const logins = new Set(reports.map(({ servers }) => servers["a"]?.authUrl));
  expect(logins.size).toBe(users.length);
  expect(bench.countPaths("/reg")).toBe(1);
});

test("the login does not log in the plain port or other users", async () => {
  await using bench = await startOAuthBench();
  await using toolport = openProtected(bench);
  await logInAs(toolport, "ada");
  expect((await toolport.as("ada").callTool("a__whoami")).text).toBe("ada");
  for (const port of [toolport, toolport.as("grace"), toolport.as("Ada"), toolport.as("ada/")]) {
    expect(await failure<AuthError>(port.callTool("a__whoami"))).toMatchObject({ code: "AUTH_REQUIRED" });
  }
});

test("the revocation of one user affects only that user", async () => {
  await using bench = await startOAuthBench();
  await using toolport = openProtected(bench);
  for (const user of USERS) await logInAs(toolport, user);
  bench.revokeGrants("ada");
  const error = await failure<AuthError>(toolport.as("ada").callTool("a__whoami"));
  expect(error).toMatchObject({ code: "AUTH_REQUIRED" });
  expect((await toolport.as("grace").callTool("a__whoami")).text).toBe("grace");
  expect(toolport.as("grace").snapshot().servers["a"]).toMatchObject({ state: "ready" });
});

test("a user cannot finish another user's login", async () => {
  await using bench = await startOAuthBench();
  await using toolport = openProtected(bench);
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
    const toolport = openProtected(bench, { store });
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
