/** A login with a caller's own `OAuthClientProvider`, finished through Toolport, against a real authorization server. */
import type { OAuthClientProvider } from "@modelcontextprotocol/client";
import { type AuthError, createToolport, type ToolportError } from "toolport";
import { afterEach, describe, expect, test, vi } from "vitest";
import { failure } from "../support/failure.js";
import { startOAuthBench } from "../support/oauth-bench.js";
import { logIn } from "../support/oauth-browser.js";
import { CALLBACK_URL } from "../support/oauth-callback-url.js";
import { useServer } from "../support/use-server.js";

type Tokens = Awaited<ReturnType<OAuthClientProvider["tokens"]>>;

/** The minimum that the SDK requires, without discovery state, so the login has to keep it elsewhere. */
class Provider implements OAuthClientProvider {
  readonly redirectUrl = CALLBACK_URL;
  readonly clientMetadata = { redirect_uris: [CALLBACK_URL], token_endpoint_auth_method: "none" };
  readonly opened: URL[] = [];
  saved: Tokens;
  #client: Awaited<ReturnType<OAuthClientProvider["clientInformation"]>>;
  #verifier = "";
  #states = 0;
  state = () => `state-${++this.#states}`;
  clientInformation = () => this.#client;
  saveClientInformation(client: NonNullable<Awaited<ReturnType<OAuthClientProvider["clientInformation"]>>>) {
    this.#client = client;
  }
  tokens = () => this.saved;
  saveTokens(tokens: NonNullable<Tokens>) {
    this.saved = tokens;
  }
  redirectToAuthorization(url: URL) {
    this.opened.push(url);
  }
  saveCodeVerifier(verifier: string) {
    this.#verifier = verifier;
  }
  codeVerifier = () => this.#verifier;
}

/** A provider that saves the whole login, as programs with a database do. */
class SavingProvider extends Provider {
  #discovered: Parameters<NonNullable<OAuthClientProvider["saveDiscoveryState"]>>[0] | undefined;
  discoveryState = () => this.#discovered;
  saveDiscoveryState(state: NonNullable<typeof this.discoveryState extends () => infer S ? S : never>) {
    this.#discovered = state;
  }
}

const bench = useServer(startOAuthBench);
afterEach(() => void vi.restoreAllMocks());

describe.each([
  ["without discovery state", () => new Provider()],
  ["with discovery state", () => new SavingProvider()],
])("a provider %s", (_name, create) => {
  test("logs in: authUrl, finishAuth, and the server is ready", async () => {
    const warned = vi.spyOn(console, "warn");
    const provider = create();
    await using toolport = createToolport({
      mcpServers: { vault: { url: bench.url, authProvider: provider } },
    });
    const { state, authUrl } = (await toolport.connect()).servers["vault"]!;
    expect(state).toBe("authenticating");
    expect(authUrl).toBe(provider.opened[0]?.href);
    const back = await logIn(authUrl!);
    const report = await toolport.finishAuth("vault", back.searchParams);
    expect(report).toMatchObject({ state: "ready" });
    expect(provider.saved?.access_token).toBeTypeOf("string");
    expect(report.toolCount).toBeGreaterThan(0);
    expect(warned).not.toHaveBeenCalled();
    // The same callback is refused a second time and its code is not sent: that would revoke the tokens.
    const before = bench.countTokens();
    expect(await failure(toolport.finishAuth("vault", back.searchParams))).toMatchObject({
      code: "AUTH_FAILED",
    });
    expect(bench.countTokens()).toBe(before);
  });

  test("a callback of another login is refused, and nothing is sent for it", async () => {
    const provider = create();
    await using toolport = createToolport({
      mcpServers: { vault: { url: bench.url, authProvider: provider } },
    });
    await toolport.connect();
    const back = await logIn(provider.opened[0]!);
    const before = bench.countTokens();
    for (const change of [
      { state: "another" },
      { state: undefined },
      { code: undefined },
      { code: undefined, error: "access_denied" },
      { iss: "https://evil.example.com" },
    ]) {
      const params = new URLSearchParams(back.search);
      for (const [name, value] of Object.entries(change)) {
        if (value === undefined) params.delete(name);
        else params.set(name, value);
      }
      await toolport.disconnect("vault");
      await toolport.connectServer("vault");
      params.set(
        "state",
        (change as { state?: string }).state ?? provider.opened.at(-1)!.searchParams.get("state")!,
      );
      if ("state" in change && change.state === undefined) params.delete("state");
      const error = await failure<AuthError>(toolport.finishAuth("vault", params));
      expect(error.name, JSON.stringify(change)).toBe("AuthError");
      expect(error.message).not.toContain("evil.example.com");
    }
    expect(bench.countTokens()).toBe(before);
    expect(provider.saved).toBeUndefined();
  });
});

test("a server that moved to another authorization server: the next login is there, with another client", async () => {
  await using home = await startOAuthBench();
  await using moved = await startOAuthBench({ signedResource: home.url });
  const provider = new SavingProvider();
  await using toolport = createToolport({
    mcpServers: { vault: { url: home.url, authProvider: provider } },
  });
  await toolport.connect();
  await toolport.finishAuth("vault", (await logIn(provider.opened[0]!)).searchParams);
  const refreshToken = provider.saved!.refresh_token!;
  const { client_id: client } = (await provider.clientInformation())!;
  home.namedIssuers = [moved.issuer];
  home.expireAccessTokens();
  const error = await failure<AuthError>(toolport.callTool("vault__whoami"));
  expect(error).toMatchObject({ code: "AUTH_REQUIRED" });
  expect(error.authUrl).toContain(`${moved.issuer}/`);
  expect(await provider.clientInformation()).not.toMatchObject({ client_id: client });
  expect(provider.discoveryState()?.authorizationServerMetadata?.issuer).toBe(moved.issuer);
  expect(home.countTokens("refresh_token")).toBe(0);
  // The server does not know the tokens of the new one, so it asks again.
  const back = await logIn(error.authUrl!);
  expect(await toolport.finishAuth("vault", back.searchParams)).toMatchObject({ state: "authenticating" });
  expect(moved.countTokens("authorization_code")).toBe(1);
  expect([...moved.secrets.values()]).not.toContain(refreshToken);
});

test("the provider of each user finishes its own login", async () => {
  const providers = { ada: new Provider(), bob: new Provider() };
  await using toolport = createToolport({
    mcpServers: { vault: { url: bench.url, authProvider: new Provider() } },
  });
  for (const [user, authProvider] of Object.entries(providers)) {
    const port = toolport.as(user, { authProvider });
    await port.connect();
    const back = await logIn(authProvider.opened[0]!, user);
    expect(await port.finishAuth("vault", back.searchParams)).toMatchObject({ state: "ready" });
  }
  expect(providers.ada.saved?.access_token).not.toBe(providers.bob.saved?.access_token);
});

test("a provider without a login says so in its error", async () => {
  await using toolport = createToolport({
    mcpServers: { vault: { url: bench.url, authProvider: { token: async () => "worthless" } } },
  });
  const error = await failure<ToolportError>(toolport.finishAuth("vault", new URLSearchParams("code=1")));
  expect(error).toMatchObject({ code: "INVALID_CONFIG", server: "vault" });
  expect(error.message).toContain("token()");
});

test("forged callbacks do not end the pending login", async () => {
  const provider = new Provider();
  await using toolport = createToolport({
    mcpServers: { vault: { url: bench.url, authProvider: provider } },
  });
  await toolport.connect();
  const back = await logIn(provider.opened[0]!);
  const before = bench.countTokens();
  for (let forged = 0; forged < 3; forged += 1) {
    const params = new URLSearchParams({ code: "of-an-attacker", state: `guess-${forged}` });
    expect(await failure(toolport.finishAuth("vault", params))).toMatchObject({ code: "AUTH_FAILED" });
  }
  expect(bench.countTokens()).toBe(before);
  expect(await toolport.finishAuth("vault", back.searchParams)).toMatchObject({ state: "ready" });
});

test("a server that always asks for more scope causes one more login, not an endless series", async () => {
  await using narrow = await startOAuthBench({
    clients: [
      {
        client_id: "known",
        redirect_uris: [CALLBACK_URL],
        token_endpoint_auth_method: "none",
        grant_types: ["authorization_code", "refresh_token"],
        scope: "tools:read tools:admin",
      },
    ],
  });
  // It saves only the access token, so the granted scope is unknown.
  const provider = new (class extends Provider {
    override saveTokens({ access_token, token_type }: NonNullable<Tokens>) {
      this.saved = { access_token, token_type };
    }
  })();
  provider.saveClientInformation({ client_id: "known" });
  await using toolport = createToolport({
    mcpServers: { vault: { url: narrow.url, authProvider: provider } },
  });
  await toolport.connect();
  await toolport.finishAuth("vault", (await logIn(provider.opened[0]!)).searchParams);
  narrow.refusal = "insufficient_scope";
  const call = () => failure<AuthError>(toolport.callTool("vault__erase"));
  const first = await call();
  expect(first).toMatchObject({ code: "AUTH_REQUIRED", authUrl: provider.opened[1]?.href });
  await toolport.finishAuth("vault", (await logIn(first.authUrl!)).searchParams);
  expect(await call()).toMatchObject({ code: "INSUFFICIENT_SCOPE" });
  expect(await call()).toMatchObject({ code: "INSUFFICIENT_SCOPE" });
  expect(provider.opened).toHaveLength(2);
});
