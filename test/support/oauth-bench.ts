/** A real OAuth server (`oidc-provider`) that protects a real MCP server, with counters and handles for tests. */
import { createServer } from "node:http";
import type { ClientMetadata, Configuration, KoaContextWithOIDC, Provider } from "oidc-provider";
import { listenOnLoopback } from "../../packages/testing/src/serve-connection.js";
import { isProof } from "./oauth-proof-check.js";
import { type OAuthResource, startOAuthResource } from "./oauth-resource.js";
import { createOAuthStorage } from "./oauth-storage.js";

/** A request to the token endpoint, without secrets. */
export interface TokenRequest {
  readonly grant: string;
  readonly resource: string | undefined;
  readonly status: number;
  /** The OAuth error code. */
  readonly error: string | undefined;
}

/** Replaces the response to a token request: the connection is cut, or this OAuth error is sent. */
export type TokenFate = "drop" | "invalid_grant" | "temporarily_unavailable";

/** Phase of a token request: not processed yet, or processed (tokens rotated) with the response not sent. */
export type TokenPhase = "arrived" | "answered";

export interface OAuthBenchOptions {
  /** Lifetime of access tokens in seconds. @default 3600 */
  readonly accessTokenSeconds?: number;
  /** Clients registered in advance. */
  readonly clients?: readonly ClientMetadata[];
  /** Another resource, for which it issues signed access tokens (JWT). */
  readonly signedResource?: string;
  /** The name of this machine in the URL of the authorization server. @default "127.0.0.1" */
  readonly host?: string;
  /** The scope in the server's challenge and metadata. @default "tools:read" */
  readonly scope?: string;
}

export interface OAuthBench extends AsyncDisposable {
  /** The protected MCP endpoint. */
  readonly url: string;
  readonly issuer: string;
  /** The authorization servers that the protected server names. */
  namedIssuers: readonly string[];
  readonly resource: OAuthResource;
  readonly tokenRequests: TokenRequest[];
  /** Requests to the authorization server, as `METHOD /path?query`. */
  readonly requestLines: string[];
  /** Every secret that passed through the token endpoint, with its name. */
  readonly secrets: ReadonlyMap<string, string>;
  /** Grants revoked because a refresh token or a code was reused. */
  readonly revokedFamilies: string[];
  /** May be changed at any time. */
  accessTokenSeconds: number;
  /** Called for every token request, which waits for it. Its result replaces the response. */
  onTokenRequest:
    | ((phase: TokenPhase, remotePort: number) => TokenFate | undefined | Promise<TokenFate | undefined>)
    | undefined;
  /** The protected server also rejects valid tokens: as invalid, or for insufficient scope. */
  refusal: "invalid_token" | "insufficient_scope" | undefined;
  /** Token requests with this grant type, or all. */
  countTokens(grant?: string): number;
  countPaths(path: string): number;
  /** Invalidates every access token so far. */
  expireAccessTokens(): void;
  /** Revokes all grants of this user, or of all users. */
  revokeGrants(user?: string): void;
  grantsOf(user: string): string[];
  /** Metadata of dynamically registered clients. */
  readonly clients: readonly object[];
  /** Access tokens that the protected server currently accepts. */
  readonly liveAccessTokens: number;
  /** Those that are bound to a key (DPoP). */
  readonly boundAccessTokens: number;
}

const SECRET_FIELDS = new Set([
  ...["code", "code_verifier", "refresh_token", "access_token", "id_token", "client_secret"],
  ...["client_assertion", "assertion"],
]);
const READ = "tools:read";
const ADMIN = "tools:admin";

export async function startOAuthBench(options: OAuthBenchOptions = {}): Promise<OAuthBench> {
  const storage = createOAuthStorage();
  const tokenRequests: TokenRequest[] = [];
  const requestLines: string[] = [];
  const revokedFamilies: string[] = [];
  const secrets = new Map<string, string>();
  const proofs = new Set<string>();
  let serve: ReturnType<Provider["callback"]> | undefined;
  const listener = createServer((request, response) => {
    requestLines.push(`${request.method} ${request.url}`);
    void serve?.(request, response);
  });
  listener.keepAliveTimeout = 0;
  const listening = await listenOnLoopback(listener);
  const { port } = new URL(`http://${listening.address}`);
  const issuer = `http://${options.host ?? "127.0.0.1"}:${port}`;

  const resource = await startOAuthResource({
    issuers: () => bench.namedIssuers,
    needs: READ,
    scope: options.scope ?? READ,
    widerScopes: { erase: ADMIN },
    async check(authorization, request) {
      const value = authorization.replace(/^(Bearer|DPoP) /, "");
      const token =
        (await provider.AccessToken.find(value)) ?? (await provider.ClientCredentials.find(value));
      if (token === undefined || token.isExpired || token.aud !== resource.url) return undefined;
      const { jkt } = token;
      if (!authorization.startsWith(jkt === undefined ? "Bearer " : "DPoP ")) return undefined;
      const proof = request.headers.get("dpop") ?? "";
      if (jkt !== undefined && !isProof(proof, { value, jkt }, request, proofs)) return undefined;
      if (bench.refusal === "invalid_token") return undefined;
      const scopes = bench.refusal === "insufficient_scope" ? new Set([READ]) : token.scopes;
      const user = "accountId" in token ? String(token.accountId) : String(token.clientId);
      return { user, scopes };
    },
  });

  const bench: OAuthBench = {
    url: resource.url,
    issuer,
    namedIssuers: [issuer],
    resource,
    tokenRequests,
    requestLines,
    secrets,
    revokedFamilies,
    accessTokenSeconds: options.accessTokenSeconds ?? 3_600,
    onTokenRequest: undefined,
    refusal: undefined,
    countTokens: (grant) =>
      tokenRequests.filter((request) => grant === undefined || request.grant === grant).length,
    countPaths: (path) => requestLines.filter((line) => line.split(/[ ?]/)[1] === path).length,
    expireAccessTokens() {
      for (const model of ["AccessToken", "ClientCredentials"]) storage.table(model).clear();
    },
    revokeGrants(user) {
      for (const id of grantsOf(user)) storage.dropGrant(id);
    },
    grantsOf: (user) => grantsOf(user),
    get clients() {
      return [...storage.table("Client").values()];
    },
    get boundAccessTokens() {
      return [...storage.table("AccessToken").values()].filter((token) => "jkt" in token).length;
    },
    get liveAccessTokens() {
      return storage.table("AccessToken").size;
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([resource.close(), listening.close()]);
    },
  };

  function grantsOf(user: string | undefined): string[] {
    return [...storage.table("Grant")]
      .filter(([, grant]) => user === undefined || grant.accountId === user)
      .map(([id]) => id);
  }

  const provider = await quietly(async () => {
    const { Provider, errors } = await import("oidc-provider");
    const getResourceServerInfo: ResourceServerInfo = (_ctx, identifier) => {
      const isSigned = identifier === options.signedResource;
      if (identifier !== resource.url && !isSigned) throw new errors.InvalidTarget();
      return {
        scope: `${READ} ${ADMIN}`,
        audience: identifier,
        accessTokenFormat: isSigned ? "jwt" : "opaque",
        accessTokenTTL: bench.accessTokenSeconds,
      };
    };
    return new Provider(issuer, {
      ...configuration(getResourceServerInfo),
      adapter: storage.adapter as never,
      clients: [...(options.clients ?? [])],
    });
  });
  provider.on("grant.revoked", (_ctx, grantId) => revokedFamilies.push(grantId));
  provider.use((ctx, next) => watchTokens(ctx as KoaContextWithOIDC, next, { bench, secrets }));
  serve = provider.callback();
  return bench;
}

async function watchTokens(
  ctx: KoaContextWithOIDC,
  next: () => Promise<unknown>,
  { bench, secrets }: { bench: OAuthBench; secrets: Map<string, string> },
): Promise<void> {
  if (ctx.path !== "/token") {
    await next();
    return;
  }
  const remotePort = ctx.req.socket.remotePort ?? 0;
  const fate = await bench.onTokenRequest?.("arrived", remotePort);
  if (fate === "drop") {
    ctx.respond = false;
    ctx.req.socket.destroy();
    return;
  }
  if (fate !== undefined) {
    ctx.status = fate === "invalid_grant" ? 400 : 503;
    ctx.body = { error: fate };
    return;
  }
  await next();
  const { grant_type: grant, resource } = ctx.oidc?.params ?? {};
  for (const [name, value] of Object.entries({ ...ctx.oidc?.params, ...(ctx.body as object) })) {
    if (SECRET_FIELDS.has(name) && typeof value === "string") secrets.set(value, name);
  }
  const { error } = (ctx.body ?? {}) as { error?: string };
  const text = (value: unknown) => (value === undefined ? undefined : String(value));
  bench.tokenRequests.push({ grant: String(grant), resource: text(resource), status: ctx.status, error });
  await bench.onTokenRequest?.("answered", remotePort);
}

type ResourceServerInfo = NonNullable<
  NonNullable<NonNullable<Configuration["features"]>["resourceIndicators"]>["getResourceServerInfo"]
>;

function configuration(getResourceServerInfo: ResourceServerInfo): Configuration {
  return {
    scopes: ["openid", "offline_access", READ, ADMIN],
    pkce: { required: () => true },
    // Reuse of a refresh token revokes all tokens of that login.
    rotateRefreshToken: true,
    issueRefreshToken: async (_ctx, client) => client.grantTypeAllowed("refresh_token"),
    features: {
      registration: { enabled: true },
      revocation: { enabled: true },
      introspection: { enabled: true },
      clientCredentials: { enabled: true },
      dPoP: { enabled: true },
      resourceIndicators: {
        enabled: true,
        useGrantedResource: async () => true,
        getResourceServerInfo,
      },
    },
    findAccount: (_ctx, accountId) => ({ accountId, claims: () => ({ sub: accountId }) }),
    ttl: {
      AccessToken: (_ctx, token) => token.resourceServer?.accessTokenTTL ?? 3_600,
      ClientCredentials: 3_600,
      Grant: 86_400,
      Session: 86_400,
      Interaction: 3_600,
      RefreshToken: 86_400,
      IdToken: 3_600,
    },
    cookies: { keys: ["bench"] },
  };
}

/** Suppresses the provider's warnings about development keys, development pages and old runtimes. */
async function quietly<T>(make: () => Promise<T>): Promise<T> {
  const { warn, info } = console;
  console.warn = console.info = () => {};
  try {
    return await make();
  } finally {
    Object.assign(console, { warn, info });
  }
}
