/** A login at a real authorization server, from the first 401 to the next login after everything was revoked. */
import { type AuthError, createToolport, memoryStore, type Toolport, type ToolportOptions } from "toolport";
import { createTestServer } from "toolport/testing";
import { expect, test, vi } from "vitest";
import { failure } from "../support/failure.js";
import { type OAuthBench, startOAuthBench } from "../support/oauth-bench.js";
import { logIn } from "../support/oauth-browser.js";
import { CALLBACK_URL } from "../support/oauth-callback-url.js";
import { makeSqlitePlace, openStore } from "../support/oauth-stores.js";
import { waitFor } from "../support/wait-for.js";

const openPort = (bench: OAuthBench, more: Partial<ToolportOptions> = {}): Toolport =>
  createToolport({ mcpServers: { a: { url: bench.url } }, callbackUrl: CALLBACK_URL, ...more });

const whoami = async (toolport: Toolport) => (await toolport.callTool("a__whoami")).text;

/** Connects, and returns the URL of the login page. */
async function askForLogin(toolport: Toolport): Promise<URL> {
  const { state, authUrl } = (await toolport.connect()).servers["a"] ?? {};
  expect({ state, hasUrl: authUrl !== undefined }).toEqual({ state: "authenticating", hasUrl: true });
  return new URL(authUrl as string);
}

async function logInTo(toolport: Toolport, user = "ada"): Promise<void> {
  await toolport.finishAuth("a", (await logIn(await askForLogin(toolport), user)).searchParams);
}

test("401, registration, login with PKCE, state and resource, one code exchange, and a call as the user", async () => {
  await using bench = await startOAuthBench();
  await using toolport = openPort(bench);
  const states: string[] = [];
  toolport.on("state", ({ to }) => states.push(to));

  const authUrl = await askForLogin(toolport);
  expect(authUrl.origin).toBe(bench.issuer);
  const asked = Object.fromEntries(authUrl.searchParams);
  expect(asked).toMatchObject({
    response_type: "code",
    code_challenge_method: "S256",
    redirect_uri: CALLBACK_URL,
    resource: bench.url,
  });
  expect(asked["scope"]?.split(" ")).toContain("tools:read");
  expect(asked["scope"]).not.toContain("tools:admin");
  expect(asked["code_challenge"]).toHaveLength(43);
  expect(asked["state"]?.length).toBeGreaterThanOrEqual(22);
  expect(bench.clients).toMatchObject([
    { application_type: "native", redirect_uris: [CALLBACK_URL], token_endpoint_auth_method: "none" },
  ]);

  await toolport.finishAuth("a", (await logIn(authUrl)).searchParams);
  expect(toolport.snapshot().servers["a"]).toMatchObject({ state: "ready" });
  expect(await whoami(toolport)).toBe("ada");
  expect(bench.tokenRequests).toEqual([
    { grant: "authorization_code", resource: bench.url, status: 200, error: undefined },
  ]);
  expect(bench.countPaths("/reg")).toBe(1);
  expect(states.at(0)).toBe("connecting");
  expect(states.filter((state) => state === "authenticating")).toHaveLength(1);
  expect(states.at(-1)).toBe("ready");
});

test("a callback with https on this machine registers a web client, which authorization servers accept", async () => {
  await using bench = await startOAuthBench();
  const callbackUrl = "https://localhost:8443/callback";
  await using toolport = openPort(bench, { callbackUrl });
  await askForLogin(toolport);
  expect(bench.clients).toMatchObject([{ application_type: "web", redirect_uris: [callbackUrl] }]);
});

test("another call before the login returns a login URL without a second registration", async () => {
  await using bench = await startOAuthBench();
  await using toolport = openPort(bench);
  const first = await askForLogin(toolport);
  const second = await askForLogin(toolport);
  expect(bench.countPaths("/reg")).toBe(1);
  const error = await failure<AuthError>(toolport.callTool("a__whoami"));
  expect(error).toMatchObject({ name: "AuthError", code: "AUTH_REQUIRED" });
  expect(error.authUrl).toBeDefined();
  // Both URLs work for the user.
  await toolport.finishAuth("a", (await logIn(first)).searchParams);
  expect(await whoami(toolport)).toBe("ada");
  expect(second.origin).toBe(bench.issuer);
});

test("add() and connectServer() report the login URL, too, with the callback of the port or of the entry", async () => {
  await using bench = await startOAuthBench();
  await using toolport = createToolport({});
  const redirectUrl = "http://127.0.0.1:4646/back";
  const added = await toolport.add("a", { url: bench.url, oauth: { redirectUrl } });
  expect(added).toMatchObject({ state: "authenticating", authUrl: expect.stringContaining(bench.issuer) });
  const asked = await toolport.connectServer("a");
  expect(asked).toMatchObject({ state: "authenticating" });
  const authUrl = new URL(asked.authUrl as string);
  expect(authUrl.searchParams.get("redirect_uri")).toBe(redirectUrl);
  await toolport.finishAuth("a", (await logIn(authUrl)).searchParams);
  expect(await whoami(toolport)).toBe("ada");
});

test("a callback request finishes the login, and the server becomes ready without a call", async () => {
  await using bench = await startOAuthBench();
  await using toolport = openPort(bench);
  const back = await logIn(await askForLogin(toolport));
  const response = await toolport.handleOAuthCallback(new Request(back));
  expect(response.status).toBe(200);
  await waitFor(() => toolport.snapshot().servers["a"]?.state === "ready");
  expect(await whoami(toolport)).toBe("ada");
});

test("a registered client with a secret needs no registration", async () => {
  const client = {
    client_id: "registered",
    client_secret: "a-secret-of-the-registered-client",
    redirect_uris: [CALLBACK_URL],
    grant_types: ["authorization_code", "refresh_token"],
    application_type: "native" as const,
    token_endpoint_auth_method: "client_secret_basic" as const,
  };
  await using bench = await startOAuthBench({ clients: [client] });
  const oauth = { clientId: client.client_id, clientSecret: client.client_secret, issuer: bench.issuer };
  await using toolport = openPort(bench, { mcpServers: { a: { url: bench.url, oauth } } });
  const authUrl = await askForLogin(toolport);
  expect(authUrl.searchParams.get("client_id")).toBe("registered");
  await toolport.finishAuth("a", (await logIn(authUrl)).searchParams);
  expect(await whoami(toolport)).toBe("ada");
  bench.expireAccessTokens();
  expect(await whoami(toolport)).toBe("ada");
  expect(bench.countPaths("/reg")).toBe(0);
});

test("DPoP tokens: every request carries a new proof, also after a refresh and from a file", async () => {
  await using bench = await startOAuthBench();
  using place = makeSqlitePlace();
  for (const isFirst of [true, false]) {
    const store = openStore(place);
    const toolport = openPort(bench, { store, mcpServers: { a: { url: bench.url, oauth: { dpop: true } } } });
    try {
      if (isFirst) await logInTo(toolport);
      expect(await whoami(toolport)).toBe("ada");
      bench.expireAccessTokens();
      expect(await whoami(toolport)).toBe("ada");
      expect(bench.boundAccessTokens).toBe(1);
    } finally {
      await toolport.close();
      await store.close();
    }
  }
  expect(bench.countTokens("refresh_token")).toBe(2);
  expect(bench.countTokens("authorization_code")).toBe(1);
});

test("the second start from SQLite needs no login and no extra request", async () => {
  const tools = { whoami: { handler: () => "anonymous" } };
  await using plain = createTestServer({ tools, capabilities: { tools: {} } });
  await using bench = await startOAuthBench();
  const http = await plain.http();
  using place = makeSqlitePlace();
  using plainPlace = makeSqlitePlace();

  async function start<T>(use: (toolport: Toolport) => Promise<T>, isPlain = false): Promise<T> {
    const store = openStore(isPlain ? plainPlace : place);
    const toolport = openPort(bench, { store, ...(isPlain && { mcpServers: { a: http.entry } }) });
    try {
      return await use(toolport);
    } finally {
      await toolport.close();
      await store.close();
    }
  }

  await start(whoami, true);
  const plainBefore = http.requestCount;
  await start(whoami, true);
  const plainCost = http.requestCount - plainBefore;

  await start(async (toolport) => {
    await logInTo(toolport);
    await whoami(toolport);
  });
  bench.requestLines.length = 0;
  bench.resource.seen.length = 0;
  expect(await start(whoami)).toBe("ada");
  expect(bench.requestLines).toEqual([]);
  expect(bench.resource.seen.filter(({ status }) => status >= 400)).toEqual([]);
  expect(bench.resource.seen.length).toBe(plainCost);
});

test("an expired access token is refreshed during a call, for the same resource and with a new refresh token", async () => {
  await using bench = await startOAuthBench();
  await using toolport = openPort(bench);
  await logInTo(toolport);
  for (const round of [1, 2, 3]) {
    bench.expireAccessTokens();
    expect(await whoami(toolport)).toBe("ada");
    expect(bench.countTokens("refresh_token")).toBe(round);
  }
  expect(bench.tokenRequests.every(({ resource, status }) => resource === bench.url && status === 200)).toBe(
    true,
  );
  expect(bench.revokedFamilies).toEqual([]);
  expect(bench.countPaths("/reg")).toBe(1);
});

test("a token is refreshed a minute before it expires: the server never gets an expired one", async () => {
  await using bench = await startOAuthBench({ accessTokenSeconds: 3_600 });
  await using toolport = openPort(bench);
  await logInTo(toolport);
  bench.resource.seen.length = 0;
  vi.useFakeTimers({ toFake: ["Date"] });
  try {
    vi.setSystemTime(Date.now() + 3_530_000);
    expect(await whoami(toolport)).toBe("ada");
    expect(bench.countTokens("refresh_token")).toBe(0);
    vi.setSystemTime(Date.now() + 15_000);
    expect(await whoami(toolport)).toBe("ada");
    expect(bench.countTokens("refresh_token")).toBe(1);
    expect(bench.resource.seen.filter(({ status }) => status === 401)).toEqual([]);
  } finally {
    vi.useRealTimers();
  }
});

test("a token that lives less than a minute is not refreshed for every call", async () => {
  await using bench = await startOAuthBench({ accessTokenSeconds: 30 });
  await using toolport = openPort(bench);
  await logInTo(toolport);
  for (let calls = 0; calls < 20; calls++) expect(await whoami(toolport)).toBe("ada");
  expect(bench.countTokens("refresh_token")).toBeLessThanOrEqual(1);
});

test("everything revoked: authenticating again with a new URL, and the login after it works", async () => {
  await using bench = await startOAuthBench();
  await using toolport = openPort(bench);
  const first = await askForLogin(toolport);
  await toolport.finishAuth("a", (await logIn(first)).searchParams);
  expect(await whoami(toolport)).toBe("ada");

  bench.revokeGrants("ada");
  const before = bench.countTokens();
  const error = await failure<AuthError>(toolport.callTool("a__whoami"));
  expect(error).toMatchObject({ name: "AuthError", code: "AUTH_REQUIRED", server: "a" });
  const authUrl = new URL(error.authUrl as string);
  expect(authUrl.searchParams.get("state")).not.toBe(first.searchParams.get("state"));
  expect(authUrl.searchParams.get("code_challenge")).not.toBe(first.searchParams.get("code_challenge"));
  expect(toolport.snapshot().servers["a"]).toMatchObject({ state: "authenticating" });
  expect(bench.countTokens() - before).toBe(1);
  // No token is left: the next call makes no token request.
  await failure(toolport.callTool("a__whoami"));
  expect(bench.countTokens() - before).toBe(1);

  await toolport.finishAuth("a", (await logIn(authUrl, "grace")).searchParams);
  expect(await whoami(toolport)).toBe("grace");
  expect(bench.countPaths("/reg")).toBe(1);
});

test("a tool that needs more scope: all other calls keep using the current token", async () => {
  await using bench = await startOAuthBench();
  await using toolport = openPort(bench);
  await logInTo(toolport);
  await failure(toolport.callTool("a__erase"));
  expect(await whoami(toolport)).toBe("ada");
  expect(toolport.snapshot().servers["a"]).toMatchObject({ state: "ready" });
});

test("a tool that needs more scope: a login for the union of scopes, with the registered client", async () => {
  await using bench = await startOAuthBench();
  await using toolport = openPort(bench);
  await logInTo(toolport);
  const error = await failure<AuthError>(toolport.callTool("a__erase"));
  expect(error).toMatchObject({ name: "AuthError", server: "a" });
  const authUrl = new URL(error.authUrl as string);
  const scopes = authUrl.searchParams.get("scope")?.split(" ") ?? [];
  expect(scopes).toEqual(expect.arrayContaining(["tools:read", "tools:admin"]));
  await toolport.finishAuth("a", (await logIn(authUrl)).searchParams);
  expect((await toolport.callTool("a__erase")).text).toBe("ada");
  expect(await whoami(toolport)).toBe("ada");
  bench.expireAccessTokens();
  expect((await toolport.callTool("a__erase")).text).toBe("ada");
});

test("a refused step-up makes a few requests, and no token is lost", async () => {
  await using bench = await startOAuthBench();
  await using toolport = openPort(bench);
  await logInTo(toolport);
  const before = bench.countTokens();
  bench.resource.seen.length = 0;
  await failure(toolport.callTool("a__erase"));
  expect(bench.countTokens() - before).toBeLessThanOrEqual(1);
  expect(bench.resource.seen.filter(({ status }) => status === 403).length).toBeLessThanOrEqual(2);
});

test("two ports over one store in memory share one login", async () => {
  await using bench = await startOAuthBench();
  const store = memoryStore();
  await using first = openPort(bench, { store });
  await logInTo(first);
  await using second = openPort(bench, { store });
  expect(await whoami(second)).toBe("ada");
  expect(bench.countTokens()).toBe(1);
});
