/** OAuth with an `authProvider` against a local authorization server: one refresh, a retry after 401, an error if a login is needed. */
import {
  auth,
  type OAuthClientProvider,
  type OAuthDiscoveryState,
  type StoredOAuthClientInformation,
  type StoredOAuthTokens,
} from "@modelcontextprotocol/client";
import { isUnauthorized } from "toolport";
import { type MCPClientError, MultiServerMCPClient, type ToolException } from "toolport/langchain";
import { describe, expect, it } from "vitest";
import { type OAuthTestServer, startOAuthServer } from "../../../test/fixtures/servers/oauth-server.js";
import { failure } from "../../../test/support/failure.js";

/** Stores everything in memory and records the login pages. */
class MemoryProvider implements OAuthClientProvider {
  readonly redirectUrl = "http://127.0.0.1/callback";
  readonly clientMetadata = { redirect_uris: [this.redirectUrl], client_name: "test" };
  readonly redirects: URL[] = [];
  #client: StoredOAuthClientInformation | undefined;
  #tokens: StoredOAuthTokens | undefined;
  #verifier = "";
  #discovery: OAuthDiscoveryState | undefined;

  /** With a server: a user has already authorized there. */
  constructor(server?: OAuthTestServer) {
    if (server === undefined) return;
    this.#tokens = { ...server.issue(), issuer: server.issuer };
    this.#client = { client_id: "known", issuer: server.issuer };
  }

  clientInformation = () => this.#client;
  saveClientInformation = (client: StoredOAuthClientInformation) => {
    this.#client = client;
  };
  tokens = () => this.#tokens;
  saveTokens = (tokens: StoredOAuthTokens) => {
    this.#tokens = tokens;
  };
  redirectToAuthorization = (url: URL) => void this.redirects.push(url);
  saveCodeVerifier = (verifier: string) => {
    this.#verifier = verifier;
  };
  codeVerifier = () => this.#verifier;
  saveDiscoveryState = (state: OAuthDiscoveryState) => {
    this.#discovery = state;
  };
  discoveryState = () => this.#discovery;
  invalidateCredentials = (scope: string) => {
    if (scope === "all" || scope === "tokens") this.#tokens = undefined;
  };
}

const definition = (era: "legacy" | "modern") =>
  ({ era, tools: { hello: { handler: () => "hello" } } }) as const;

async function withClient(
  server: OAuthTestServer,
  provider: MemoryProvider,
  run: (client: MultiServerMCPClient) => Promise<void>,
  transport: "http" | "sse" = "http",
): Promise<void> {
  await using client = new MultiServerMCPClient({
    safe: { transport, url: server.url, authProvider: provider },
  });
  await run(client);
}

describe.each([
  ["http", "legacy"],
  ["http", "modern"],
  ["sse", "legacy"],
] as const)("over %s (%s)", (transport, era) => {
  it("fifty calls with an expired token refresh it once and all succeed", async () => {
    await using server = await startOAuthServer(definition(era), { transport });
    const provider = new MemoryProvider(server);
    await withClient(
      server,
      provider,
      async (client) => {
        const [hello] = await client.getTools();
        expect(await hello!.invoke({})).toBe("hello");
        server.expireAccessTokens();
        const answers = await Promise.all(Array.from({ length: 50 }, () => hello!.invoke({})));
        expect(answers).toEqual(Array.from({ length: 50 }, () => "hello"));
        expect(server.refused).toBeGreaterThanOrEqual(50);
        expect(server.counts.refresh).toBe(1);
        expect(provider.redirects).toEqual([]);
      },
      transport,
    );
  });

  it("a connection that starts with an expired token opens after a refresh", async () => {
    await using server = await startOAuthServer(definition(era), { transport });
    const provider = new MemoryProvider(server);
    server.expireAccessTokens();
    await withClient(
      server,
      provider,
      async (client) => {
        const [hello] = await client.getTools();
        expect(await hello!.invoke({})).toBe("hello");
        expect(server.counts.refresh).toBe(1);
      },
      transport,
    );
  });

  it("names the server that requires authorization, and continues after the login", async () => {
    await using server = await startOAuthServer(definition(era), { transport });
    const provider = new MemoryProvider();
    await withClient(
      server,
      provider,
      async (client) => {
        const error = await failure<MCPClientError>(client.getTools());
        expect(error).toMatchObject({
          name: "MCPClientError",
          serverName: "safe",
          cause: { name: "AuthError", code: "AUTH_REQUIRED" },
        });
        expect(isUnauthorized(error)).toBe(true);
        expect(provider.redirects.length).toBe(1);
        expect(provider.redirects[0]!.searchParams.get("code_challenge_method")).toBe("S256");

        const authorizationCode = server.approve(provider.redirects[0]!);
        expect(await auth(provider, { serverUrl: server.url, authorizationCode })).toBe("AUTHORIZED");
        const [hello] = await client.getTools();
        expect(await hello!.invoke({})).toBe("hello");
        expect(server.counts).toMatchObject({ code: 1, register: 1 });
      },
      transport,
    );
  });
});

describe("a tool", () => {
  it("whose token cannot be refreshed throws a ToolException that says so, and asks the user once", async () => {
    await using server = await startOAuthServer(definition("legacy"));
    const provider = new MemoryProvider(server);
    await withClient(server, provider, async (client) => {
      const [hello] = await client.getTools();
      server.expireAccessTokens();
      server.revokeRefreshTokens();
      const errors = await Promise.all([1, 2, 3].map(() => failure<ToolException>(hello!.invoke({}))));
      for (const error of errors) {
        expect(error).toMatchObject({ name: "ToolException", cause: { code: "AUTH_REQUIRED" } });
        expect(isUnauthorized(error)).toBe(true);
      }
      expect(server.counts.refresh).toBe(1);
      expect(provider.redirects.length).toBe(1);
    });
  });

  it("of a caller uses the caller's provider", async () => {
    await using server = await startOAuthServer(definition("legacy"));
    const [ada, bob] = [new MemoryProvider(server), new MemoryProvider(server)];
    await using client = new MultiServerMCPClient({ safe: { url: server.url } });
    const [ofAda] = await client.getTools(["safe"], { authProvider: ada });
    const [ofBob] = await client.getTools(["safe"], { authProvider: bob });
    server.expireAccessTokens();
    expect(await Promise.all([ofAda, ofBob, ofAda].map((tool) => tool!.invoke({})))).toEqual(
      Array.from({ length: 3 }, () => "hello"),
    );
    expect(server.counts.refresh).toBe(2);
  });
});
