/** Tests of the OAuth bench with the SDK's client: what it rejects, counts and revokes. */
import {
  auth,
  Client,
  type OAuthClientProvider,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from "@modelcontextprotocol/client";
import { expect, test } from "vitest";
import { type OAuthBench, startOAuthBench } from "./oauth-bench.js";
import { logIn } from "./oauth-browser.js";

const CALLBACK = "http://127.0.0.1:4545/callback";

/** The minimum that the SDK's flow needs, in memory. */
function createProvider() {
  const kept: {
    client?: unknown;
    discovery?: unknown;
    tokens?: { access_token: string; refresh_token?: string };
    verifier?: string;
  } = {};
  let authorizationUrl: URL | undefined;
  const provider = {
    redirectUrl: CALLBACK,
    clientMetadata: {
      client_name: "bench",
      redirect_uris: [CALLBACK],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: "none",
      application_type: "native",
    },
    state: () => "state-of-the-test",
    clientInformation: () => kept.client,
    saveClientInformation: (client: unknown) => void Object.assign(kept, { client }),
    tokens: () => kept.tokens,
    saveTokens: (tokens: unknown) => void Object.assign(kept, { tokens }),
    redirectToAuthorization: (url: URL) => {
      authorizationUrl = url;
    },
    saveCodeVerifier: (verifier: string) => void Object.assign(kept, { verifier }),
    codeVerifier: () => kept.verifier,
    saveDiscoveryState: (discovery: unknown) => void Object.assign(kept, { discovery }),
    discoveryState: () => kept.discovery,
    invalidateCredentials: () => void Object.assign(kept, { tokens: undefined }),
  } as unknown as OAuthClientProvider;
  return { provider, kept, authorizationUrl: () => authorizationUrl as URL };
}

async function logInWithSdk(bench: OAuthBench, user = "ada") {
  const login = createProvider();
  expect(await auth(login.provider, { serverUrl: bench.url, scope: "tools:read" })).toBe("REDIRECT");
  const back = await logIn(login.authorizationUrl(), user);
  expect(back.searchParams.get("state")).toBe("state-of-the-test");
  expect(back.searchParams.get("iss")).toBe(bench.issuer);
  const code = back.searchParams.get("code") as string;
  expect(
    await auth(login.provider, { serverUrl: bench.url, authorizationCode: code, iss: bench.issuer }),
  ).toBe("AUTHORIZED");
  return login;
}

async function connect(bench: OAuthBench, provider: OAuthClientProvider) {
  const client = new Client({ name: "bench", version: "1" });
  await client.connect(new StreamableHTTPClientTransport(new URL(bench.url), { authProvider: provider }));
  return client;
}

test("a complete login, a call as the user, and a refresh after the token expired", async () => {
  await using bench = await startOAuthBench();
  const { provider, kept } = await logInWithSdk(bench);
  const client = await connect(bench, provider);
  const call = () => client.callTool({ name: "whoami", arguments: {} });
  expect((await call()).content).toEqual([{ type: "text", text: "ada" }]);
  const before = kept.tokens?.refresh_token;
  bench.expireAccessTokens();
  expect((await call()).content).toEqual([{ type: "text", text: "ada" }]);
  expect(kept.tokens?.refresh_token).not.toBe(before);
  expect(bench.tokenRequests).toEqual([
    { grant: "authorization_code", resource: bench.url, status: 200, error: undefined },
    { grant: "refresh_token", resource: bench.url, status: 200, error: undefined },
  ]);
  expect(bench.countPaths("/reg")).toBe(1);
  expect(bench.revokedFamilies).toEqual([]);
  await client.close();
});

test("a reused refresh token revokes all tokens of the login", async () => {
  await using bench = await startOAuthBench();
  const { provider, kept } = await logInWithSdk(bench);
  const stolen = kept.tokens;
  await auth(provider, { serverUrl: bench.url });
  expect(bench.grantsOf("ada")).toHaveLength(1);
  Object.assign(kept, { tokens: stolen });
  expect(await auth(provider, { serverUrl: bench.url })).toBe("REDIRECT");
  expect(bench.tokenRequests.at(-1)).toMatchObject({
    grant: "refresh_token",
    status: 400,
    error: "invalid_grant",
  });
  expect(bench.revokedFamilies).toHaveLength(1);
  expect(bench.grantsOf("ada")).toEqual([]);
  expect(bench.liveAccessTokens).toBe(0);
});

test("no token, an unknown token and a tool that needs more scope are challenged", async () => {
  await using bench = await startOAuthBench();
  const ask = (headers: Record<string, string>, name = "whoami") =>
    fetch(bench.url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        ...headers,
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: {} } }),
    });
  const plain = await ask({});
  expect(plain.status).toBe(401);
  expect(plain.headers.get("www-authenticate")).toContain("/.well-known/oauth-protected-resource/mcp");
  expect((await ask({ authorization: "Bearer made-up" })).status).toBe(401);
  const { kept } = await logInWithSdk(bench);
  const authorization = `Bearer ${kept.tokens?.access_token}`;
  expect((await ask({ authorization })).status).toBe(200);
  const wider = await ask({ authorization }, "erase");
  expect(wider.status).toBe(403);
  expect(wider.headers.get("www-authenticate")).toContain('error="insufficient_scope", scope="tools:admin"');
});

test("revoking the grants of one user invalidates only that user's tokens", async () => {
  await using bench = await startOAuthBench();
  const ada = await logInWithSdk(bench, "ada");
  const grace = await logInWithSdk(bench, "grace");
  bench.revokeGrants("ada");
  expect(bench.grantsOf("grace")).toHaveLength(1);
  await expect(connect(bench, ada.provider)).rejects.toBeInstanceOf(UnauthorizedError);
  const client = await connect(bench, grace.provider);
  expect((await client.callTool({ name: "whoami", arguments: {} })).content).toEqual([
    { type: "text", text: "grace" },
  ]);
  await client.close();
});
