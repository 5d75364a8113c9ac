import type { OAuthClientProvider, OAuthDiscoveryState } from "@modelcontextprotocol/client";
import type { AuthError } from "@toolport/base";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { failure } from "../../../../../../test/support/failure.js";
import {
  type FakeAuthorizationServer,
  startFakeAuthorizationServer,
} from "../../../../../../test/support/fake-authorization-server.js";
import { renewAuthorization } from "./provider-authorization.js";

type Tokens = Awaited<ReturnType<OAuthClientProvider["tokens"]>>;

let fake: FakeAuthorizationServer;
let evil: FakeAuthorizationServer;
beforeEach(async () => {
  [fake, evil] = await Promise.all([startFakeAuthorizationServer(), startFakeAuthorizationServer()]);
});
afterEach(() => Promise.all([fake[Symbol.asyncDispose](), evil[Symbol.asyncDispose]()]));

/** As users write them: an instance with private fields. */
class Provider implements OAuthClientProvider {
  readonly redirectUrl = "http://127.0.0.1:9/callback";
  readonly clientMetadata = { redirect_uris: [this.redirectUrl] };
  readonly opened: string[] = [];
  discovered: OAuthDiscoveryState | undefined;
  #tokens: Tokens;
  constructor(tokens?: Tokens) {
    this.#tokens = tokens;
  }
  clientInformation: OAuthClientProvider["clientInformation"] = () => ({
    client_id: "known",
    client_secret: "known-secret",
  });
  tokens(): Tokens {
    return this.#tokens;
  }
  saveTokens(tokens: Tokens): void {
    this.#tokens = tokens;
  }
  redirectToAuthorization(url: URL): void {
    this.opened.push(url.href);
  }
  discoveryState = () => this.discovered;
  saveCodeVerifier(): void {}
  codeVerifier = () => "verifier";
}

async function call(provider: Provider): Promise<Response> {
  const url = fake.mcpUrl;
  const authorize = renewAuthorization({ provider, serverUrl: url, fetch });
  return authorize({ method: "POST", url }, (fields) =>
    fetch(url, { method: "POST", headers: fields, body: "{}" }),
  );
}

describe("a caller's provider", () => {
  it("is redirected to a valid login page", async () => {
    const provider = new Provider();
    await expect(call(provider)).rejects.toMatchObject({ code: "AUTH_REQUIRED" });
    expect(provider.opened).toEqual([expect.stringContaining(`${fake.origin}/authorize?`)]);
  });

  it.each(["file:///etc/passwd", "ms-msdt:/id", "vscode://settings", "http://example.com/authorize"])(
    "is never redirected to %s",
    async (page) => {
      fake.metadata = { authorization_endpoint: page };
      const provider = new Provider();
      await expect(call(provider)).rejects.toMatchObject({ code: "AUTH_FAILED" });
      expect(provider.opened).toEqual([]);
    },
  );

  it.each([[undefined], [["plain"]]])("is not redirected to a server without PKCE: %j", async (methods) => {
    fake.metadata = { code_challenge_methods_supported: methods };
    const provider = new Provider();
    // The SDK itself rejects a server that lists only other methods.
    await failure<AuthError>(call(provider));
    expect(provider.opened).toEqual([]);
  });
});

describe("tokens without a recorded issuer", () => {
  const unstamped = () => ({ access_token: "old", token_type: "Bearer", refresh_token: "refresh-secret" });

  it("are not sent to an authorization server on another origin, and stay in their store", async () => {
    fake.resource = { authorization_servers: [evil.origin] };
    const provider = new Provider(unstamped());
    await expect(call(provider)).rejects.toMatchObject({ code: "AUTH_REQUIRED" });
    expect(evil.tokenRequests()).toEqual([]);
    expect(provider.tokens()).toEqual(unstamped());
    expect(provider.opened).toEqual([expect.stringContaining(`${evil.origin}/authorize?`)]);
  });

  /** Lets `server` refresh them once. */
  function refreshAt(server: FakeAuthorizationServer): void {
    fake.accessTokens.add("new");
    const body = { access_token: "new", token_type: "Bearer" };
    server.script = ({ path }) => (path === "/token" ? { body } : undefined);
  }

  it("are refreshed if the MCP server is its own authorization server", async () => {
    refreshAt(fake);
    expect((await call(new Provider(unstamped()))).status).toBe(200);
    expect(fake.tokenRequests("refresh_token")).toHaveLength(1);
  });

  it("are not sent to a token endpoint on another origin, even if the authorization server is on the MCP server's origin", async () => {
    fake.metadata = { token_endpoint: `${evil.origin}/token` };
    refreshAt(evil);
    const provider = new Provider(unstamped());
    await expect(call(provider)).rejects.toMatchObject({ code: "AUTH_REQUIRED" });
    expect(evil.requests).toEqual([]);
    expect(provider.tokens()).toEqual(unstamped());
    expect(provider.opened).toEqual([expect.stringContaining(`${fake.origin}/authorize?`)]);
  });

  it("are not sent to another origin if the store returns null as the issuer", async () => {
    fake.resource = { authorization_servers: [evil.origin] };
    refreshAt(evil);
    const provider = new Provider({ ...unstamped(), issuer: null } as unknown as Tokens);
    await expect(call(provider)).rejects.toMatchObject({ code: "AUTH_REQUIRED" });
    expect(evil.tokenRequests()).toEqual([]);
  });

  it("are not sent to a token endpoint on another origin from a saved discovery state", async () => {
    const provider = new Provider(unstamped());
    provider.discovered = {
      authorizationServerUrl: fake.origin,
      authorizationServerMetadata: {
        issuer: fake.origin,
        authorization_endpoint: `${fake.origin}/authorize`,
        token_endpoint: `${evil.origin}/token`,
        response_types_supported: ["code"],
        code_challenge_methods_supported: ["S256"],
      },
    };
    refreshAt(evil);
    await expect(call(provider)).rejects.toMatchObject({ code: "AUTH_REQUIRED" });
    expect(evil.requests).toEqual([]);
  });

  it("are refreshed at the default endpoints of a server without metadata", async () => {
    refreshAt(fake);
    const refresh = fake.script;
    fake.script = (request) =>
      request.path.startsWith("/.well-known/") ? { status: 404, body: {} } : refresh?.(request);
    expect((await call(new Provider(unstamped()))).status).toBe(200);
    expect(fake.tokenRequests("refresh_token")).toHaveLength(1);
  });

  it("are refreshed on another origin once their issuer is recorded", async () => {
    fake.resource = { authorization_servers: [evil.origin] };
    refreshAt(evil);
    expect((await call(new Provider({ ...unstamped(), issuer: evil.origin }))).status).toBe(200);
    expect(evil.tokenRequests("refresh_token")).toHaveLength(1);
  });
});

/** Saves its discovery state and its client, as programs with a database do. */
class SavingProvider extends Provider {
  client: Awaited<ReturnType<OAuthClientProvider["clientInformation"]>>;
  override clientInformation = () => this.client;
  saveClientInformation(client: NonNullable<typeof this.client>): void {
    this.client = client;
  }
  saveDiscoveryState(state: OAuthDiscoveryState): void {
    this.discovered = state;
  }
}

describe("a discovery state that the provider saved", () => {
  const stateOf = (server: FakeAuthorizationServer): OAuthDiscoveryState => ({
    authorizationServerUrl: server.origin,
    resourceMetadataUrl: fake.resourceMetadataUrl,
    resourceMetadata: { resource: fake.mcpUrl.href, authorization_servers: [server.origin] },
    authorizationServerMetadata: {
      issuer: server.origin,
      authorization_endpoint: `${server.origin}/authorize`,
      token_endpoint: `${server.origin}/token`,
      registration_endpoint: `${server.origin}/register`,
      response_types_supported: ["code"],
      code_challenge_methods_supported: ["S256"],
    },
  });
  const savedAt = (server: FakeAuthorizationServer, tokens?: Tokens): SavingProvider => {
    const provider = new SavingProvider(tokens);
    provider.discovered = stateOf(server);
    return provider;
  };
  const opensAt = (server: FakeAuthorizationServer) => [
    expect.stringContaining(`${server.origin}/authorize?`),
  ];

  it("is read again if the metadata names another authorization server", async () => {
    fake.resource = { authorization_servers: [evil.origin] };
    const provider = savedAt(fake);
    await expect(call(provider)).rejects.toMatchObject({ code: "AUTH_REQUIRED" });
    expect(provider.opened).toEqual(opensAt(evil));
    expect(provider.discovered?.authorizationServerMetadata?.issuer).toBe(evil.origin);
    expect(provider.client).toMatchObject({ client_id: "client-1", issuer: evil.origin });
    expect(fake.counts.register).toBe(0);
  });

  it("is read again if the challenge names other metadata", async () => {
    const provider = savedAt(fake);
    const elsewhere = "/.well-known/oauth-protected-resource/moved";
    fake.resourceMetadataUrl = `${fake.origin}${elsewhere}`;
    fake.script = ({ path }) =>
      path === elsewhere
        ? { body: { resource: fake.mcpUrl.href, authorization_servers: [evil.origin] } }
        : undefined;
    await expect(call(provider)).rejects.toMatchObject({ code: "AUTH_REQUIRED" });
    expect(provider.opened).toEqual(opensAt(evil));
    expect(provider.discovered?.resourceMetadataUrl).toBe(fake.resourceMetadataUrl);
  });

  it("is read again for the endpoints and scopes of the same authorization server", async () => {
    const provider = savedAt(fake);
    fake.metadata = { authorization_endpoint: `${fake.origin}/new-login` };
    fake.resource = { scopes_supported: ["new"] };
    await expect(call(provider)).rejects.toMatchObject({ code: "AUTH_REQUIRED" });
    expect(provider.opened[0]).toContain(`${fake.origin}/new-login?`);
    expect(new URL(provider.opened[0]!).searchParams.get("scope")).toBe("new");
  });

  it("keeps its authorization server while the server still names it", async () => {
    fake.resource = { authorization_servers: [evil.origin, fake.origin] };
    const provider = savedAt(fake);
    await expect(call(provider)).rejects.toMatchObject({ code: "AUTH_REQUIRED" });
    expect(provider.opened).toEqual(opensAt(fake));
    expect(evil.requests).toEqual([]);
  });

  it("is used as it is if the metadata cannot be read", async () => {
    fake.script = ({ path }) => (path.startsWith("/.well-known/") ? { status: 503, body: {} } : undefined);
    const provider = savedAt(fake);
    await expect(call(provider)).rejects.toMatchObject({ code: "AUTH_REQUIRED" });
    expect(provider.opened).toEqual(opensAt(fake));
  });

  it("is used as it is if the provider cannot save another one", async () => {
    fake.resource = { authorization_servers: [evil.origin] };
    const provider = new Provider();
    provider.discovered = stateOf(fake);
    await expect(call(provider)).rejects.toMatchObject({ code: "AUTH_REQUIRED" });
    expect(provider.opened).toEqual(opensAt(fake));
    expect(evil.requests).toEqual([]);
  });

  it("says which server issued tokens and a client that do not record it", async () => {
    // The MCP server becomes its own authorization server, which may otherwise get such tokens.
    const tokens = { access_token: "old", token_type: "Bearer", refresh_token: "refresh-secret" };
    const provider = savedAt(evil, tokens);
    provider.client = { client_id: "old-client", client_secret: "old-secret" };
    await expect(call(provider)).rejects.toMatchObject({ code: "AUTH_REQUIRED" });
    expect(provider.opened).toEqual(opensAt(fake));
    expect(provider.client).toMatchObject({ client_id: "client-1", issuer: fake.origin });
    expect(JSON.stringify(fake.requests)).not.toMatch(/refresh-secret|old-secret|old-client/);
    expect(provider.tokens()).toEqual(tokens);
  });

  it("keeps a client that cannot register from the new authorization server, every time", async () => {
    fake.resource = { authorization_servers: [evil.origin] };
    const provider = savedAt(fake);
    provider.client = { client_id: "known", client_secret: "known-secret" };
    Object.defineProperty(provider, "saveClientInformation", { value: undefined });
    for (const _ of [1, 2]) await expect(call(provider)).rejects.toMatchObject({ code: "ISSUER_MISMATCH" });
    expect(provider.opened).toEqual([]);
    expect(JSON.stringify(evil.requests)).not.toContain("known-secret");
    expect(provider.discovered).toEqual(stateOf(fake));
  });
});
