/** A login at a server of legacy HTTP+SSE: the event stream and the messages carry the token, and both use the refreshed one. */
import { type AuthError, createToolport } from "toolport";
import { expect, test } from "vitest";
import { type OAuthTestServer, startOAuthServer } from "../fixtures/servers/oauth-server.js";
import { failure } from "../support/failure.js";
import { CALLBACK_URL } from "../support/oauth-callback-url.js";

const open = ({ url }: OAuthTestServer) =>
  createToolport({ mcpServers: { old: { transport: "sse", url } }, callbackUrl: CALLBACK_URL });

const start = () => startOAuthServer({ tools: { hello: { handler: () => "hello" } } }, { transport: "sse" });

function approve(server: OAuthTestServer, authUrl: string): URLSearchParams {
  const url = new URL(authUrl);
  const state = url.searchParams.get("state") as string;
  return new URLSearchParams({ code: server.approve(url), state });
}

test("the event stream is refused, a user logs in, an expired token is refreshed", async () => {
  await using server = await start();
  await using toolport = open(server);
  const { state, authUrl } = (await toolport.connect()).servers["old"] ?? {};
  expect({ state, authUrl }).toEqual({
    state: "authenticating",
    authUrl: expect.stringContaining(server.issuer),
  });
  await toolport.finishAuth("old", approve(server, authUrl as string));
  expect((await toolport.callTool("old__hello")).text).toBe("hello");

  server.expireAccessTokens();
  expect((await toolport.callTool("old__hello")).text).toBe("hello");
  expect(server.counts).toMatchObject({ refresh: 1, code: 1, register: 1 });

  server.expireAccessTokens();
  server.revokeRefreshTokens();
  const error = await failure<AuthError>(toolport.callTool("old__hello"));
  expect(error).toMatchObject({ code: "AUTH_REQUIRED", server: "old", authUrl: expect.any(String) });
  await toolport.finishAuth("old", approve(server, error.authUrl as string));
  expect((await toolport.callTool("old__hello")).text).toBe("hello");
});

test("without a callback URL the error says that authorization is required", async () => {
  await using server = await start();
  await using toolport = createToolport({ mcpServers: { old: { transport: "sse", url: server.url } } });
  expect(await failure(toolport.callTool("old__hello"))).toMatchObject({
    code: "AUTH_REQUIRED",
    status: 401,
  });
  server.refusal = () => 403;
  expect((await toolport.connect()).servers["old"]?.error).toMatchObject({ code: "FORBIDDEN", status: 403 });
});
