/** Two users of one port, whose calls are interleaved to detect results for the wrong user. */
import { createToolport, type Toolport } from "toolport";
import { expect } from "vitest";
import { type OAuthBench, startOAuthBench } from "./oauth-bench.js";
import { logIn } from "./oauth-browser.js";
import { CALLBACK_URL } from "./oauth-callback-url.js";

export const USERS = ["ada", "grace"] as const;

/** Calls the tool that returns the current user, sixteen calls at a time. Returns the number of results for the other user. */
export async function interleaveUsers(toolport: Toolport, tool: string, calls: number): Promise<number> {
  let made = 0;
  let crossed = 0;
  const work = async () => {
    while (made < calls) {
      const user = USERS[made++ % USERS.length] as string;
      const { text } = await toolport.as(user).callTool(tool);
      if (text !== user) crossed += 1;
    }
  };
  await Promise.all(Array.from({ length: 16 }, work));
  return crossed;
}

/** A port with the protected server as `a`. */
export const openProtected = (bench: OAuthBench, more: object = {}) =>
  createToolport({ mcpServers: { a: { url: bench.url } }, callbackUrl: CALLBACK_URL, ...more });

export async function logInAs(toolport: Toolport, user: string): Promise<void> {
  const { state, authUrl } = (await toolport.as(user).connect()).servers["a"] ?? {};
  expect(state).toBe("authenticating");
  // The state of the callback identifies the login.
  const response = await toolport.handleOAuthCallback(new Request(await logIn(authUrl as string, user)));
  expect(response.status).toBe(200);
}

/** The tokens of two users expire in the middle of this many calls, and no call gets the other user's result. */
export async function expectNoCrossedTokens(calls: number): Promise<void> {
  await using bench = await startOAuthBench();
  await using toolport = openProtected(bench);
  for (const user of USERS) await logInAs(toolport, user);
  expect(await interleaveUsers(toolport, "a__whoami", calls / 2)).toBe(0);
  bench.expireAccessTokens();
  expect(await interleaveUsers(toolport, "a__whoami", calls / 2)).toBe(0);
  expect(Object.fromEntries(bench.resource.calls)).toEqual({ ada: calls / 2, grace: calls / 2 });
  expect(bench.countTokens("refresh_token")).toBe(2);
  expect(bench.revokedFamilies).toEqual([]);
  // One client for the application; the authorization server knows the users.
  expect(bench.countPaths("/reg")).toBe(1);
}
