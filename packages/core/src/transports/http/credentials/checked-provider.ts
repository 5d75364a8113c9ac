/** What every login checks: the provider of the user, the page that a user opens, and how long a token lasts. */
import type { OAuthClientProvider, OAuthDiscoveryState } from "@modelcontextprotocol/client";
import { AuthError, canParseUrl } from "@toolport/base";
import { canonicalHost, isLoopbackHost } from "@toolport/http";
import type { AddressRuleOptions } from "@toolport/http/address-rule";

/** The MCP server, and where to read what it says about its authorization server. */
interface Discovery {
  readonly serverUrl: URL;
  readonly fetch: typeof globalThis.fetch;
  /** From the challenge of the rejected request. */
  readonly resourceMetadataUrl?: URL | string | undefined;
}

interface StartOptions extends Discovery {
  /** Called before the user is redirected to the login page. */
  readonly onRedirect?: (url: URL, discovery: OAuthDiscoveryState | undefined) => void;
}

/** For a login that was started with this discovery state; undefined if only the provider knows it. */
interface FinishOptions {
  readonly serverUrl: URL;
  readonly discovery: OAuthDiscoveryState | undefined;
}

/**
 * For the SDK: to refresh tokens, to start a login, or to finish one.
 *
 * A rejected request may mean that the server has moved to another authorization server. So a discovery state that the provider
 * saved is read again, except at the end of a login, where the code belongs to it. The new one is saved when a login begins or
 * tokens are saved. A provider that cannot save it has fixed its authorization server.
 *
 * If the server has moved, tokens and a client without a recorded issuer are those of the former authorization server. Otherwise
 * such tokens are withheld unless the authorization server and its token endpoint are both on the MCP server's own origin. Any
 * other address was named by the MCP server, and would receive a refresh token (with the client's secret) that another server
 * may have issued. The user logs in once more; the new tokens record their issuer.
 */
export function checkedProvider(
  provider: OAuthClientProvider,
  options: StartOptions | FinishOptions,
): OAuthClientProvider {
  const { serverUrl } = options;
  let state: OAuthDiscoveryState | undefined;
  let unsaved: OAuthDiscoveryState | undefined;
  /** The authorization server that the MCP server no longer names. */
  let formerIssuer: string | undefined;
  const saveState = async () => {
    const changed = unsaved;
    unsaved = undefined;
    if (changed !== undefined) await provider.saveDiscoveryState?.(changed);
  };
  const withIssuer = <Credentials extends { issuer?: string | undefined }>(credentials: Credentials) =>
    formerIssuer === undefined || hasIssuer(credentials)
      ? credentials
      : { ...credentials, issuer: formerIssuer };
  const own: Partial<OAuthClientProvider> = {
    async discoveryState() {
      if ("discovery" in options) {
        state = options.discovery ?? (await provider.discoveryState?.());
        return state;
      }
      state = await provider.discoveryState?.();
      if (state === undefined || provider.saveDiscoveryState === undefined) return state;
      const saved = state;
      state = await discoverAgain(saved, options);
      unsaved = state;
      if (state.authorizationServerUrl !== saved.authorizationServerUrl)
        formerIssuer = saved.authorizationServerMetadata?.issuer ?? saved.authorizationServerUrl;
      return state;
    },
    async saveDiscoveryState(discovered) {
      state = discovered;
      unsaved = discovered;
    },
    async clientInformation(context) {
      const client = await provider.clientInformation(context);
      return client && withIssuer(client);
    },
    async redirectToAuthorization(url) {
      await checkLoginPage(url.href, { serverUrl });
      const metadata = state?.authorizationServerMetadata;
      if (metadata !== undefined) checkPkce(metadata);
      await saveState();
      if ("onRedirect" in options) options.onRedirect?.(url, state);
      await provider.redirectToAuthorization(url);
    },
    async saveTokens(tokens, context) {
      await saveState();
      await provider.saveTokens(tokens, context);
    },
    async tokens(context) {
      const tokens = await provider.tokens(context);
      // Without a context the tokens are for the MCP server itself.
      if (context === undefined || tokens === undefined || hasIssuer(tokens)) return tokens;
      if (formerIssuer !== undefined) return withIssuer(tokens);
      const targets = [context.issuer, state?.authorizationServerMetadata?.token_endpoint ?? context.issuer];
      return targets.every((target) => isAt(serverUrl.origin, target)) ? tokens : undefined;
    },
  };
  // No copy: only the provider's own methods can access its private fields. No proxy of it either: it may be frozen.
  return new Proxy({} as OAuthClientProvider, {
    has: (_, key) => key in own || key in provider,
    get(_, key) {
      if (Object.hasOwn(own, key)) return own[key as keyof OAuthClientProvider];
      const value: unknown = Reflect.get(provider, key);
      return typeof value === "function" ? value.bind(provider) : value;
    },
  });
}

/** A database may return null for a field that was never stored; the SDK also treats that as unrecorded. */
const hasIssuer = ({ issuer }: { issuer?: unknown }): boolean => typeof issuer === "string";

/** What the server and its authorization server say now; what they no longer say stays as it was saved. */
async function discoverAgain(
  saved: OAuthDiscoveryState,
  { serverUrl, fetch, resourceMetadataUrl = saved.resourceMetadataUrl }: Discovery,
): Promise<OAuthDiscoveryState> {
  const { discoverAuthorizationServerMetadata, discoverOAuthProtectedResourceMetadata } = await import(
    "@modelcontextprotocol/client"
  );
  const where = resourceMetadataUrl === undefined ? {} : { resourceMetadataUrl };
  const resourceMetadata = await discoverOAuthProtectedResourceMetadata(serverUrl, where, fetch).catch(
    () => undefined,
  );
  const named = resourceMetadata?.authorization_servers ?? [];
  if (resourceMetadata === undefined || named.length === 0) return saved;
  const isNamed = named.includes(saved.authorizationServerUrl);
  const authorizationServerUrl = isNamed ? saved.authorizationServerUrl : named[0]!;
  const former = isNamed ? saved.authorizationServerMetadata : undefined;
  const metadata = await discoverAuthorizationServerMetadata(authorizationServerUrl, {
    fetchFn: fetch,
  }).catch((error: unknown) => {
    if (former === undefined) throw error;
    return undefined;
  });
  const authorizationServerMetadata = metadata ?? former;
  return {
    authorizationServerUrl,
    resourceMetadata,
    ...(resourceMetadataUrl !== undefined && { resourceMetadataUrl: String(resourceMetadataUrl) }),
    ...(authorizationServerMetadata !== undefined && { authorizationServerMetadata }),
  };
}

function isAt(origin: string, url: string): boolean {
  return canParseUrl(url) && new URL(url).origin === origin;
}

/** Characters of a plain URL: no whitespace, which parsers remove, and no shell metacharacters. */
const PLAIN = /^[A-Za-z0-9\-._~:/?[\]@!&*+,=%]+$/;

const failed = (what: string, next: string) =>
  new AuthError({ code: "AUTH_FAILED", what, next, outcome: "unsent" });

const refused = (why: string) =>
  failed(
    `The authorization server's login page has an address that ${why}`,
    "Do not open it by hand; ask the server's operator for an https: address",
  );

/**
 * Returns the URL if a browser may open it: https, or http on this machine. Other schemes are refused, because a server
 * could start any program of this machine that has registered one.
 *
 * @throws AuthError, or ConnectionError for private addresses
 */
export async function checkLoginPage(text: string, guard: AddressRuleOptions): Promise<URL> {
  if (!PLAIN.test(text) || !canParseUrl(text)) throw refused("is not a plain URL");
  const url = new URL(text);
  const isLocal = url.protocol === "http:" && isLoopbackHost(canonicalHost(url));
  if (url.protocol !== "https:" && !isLocal) throw refused("is neither https: nor on this machine");
  if (url.username !== "" || url.password !== "") throw refused("has a user name in it");
  const { createAddressRule } = await import("@toolport/http/address-rule");
  createAddressRule(guard)(url);
  return url;
}

/**
 * Metadata that does not list S256 means that the server does not support PKCE.
 *
 * @throws AuthError
 */
export function checkPkce(metadata: {
  readonly code_challenge_methods_supported?: readonly string[] | undefined;
}): void {
  if (metadata.code_challenge_methods_supported?.includes("S256") === true) return;
  throw failed(
    "The authorization server's metadata does not list PKCE with S256",
    "Ask its operator to list `S256` in `code_challenge_methods_supported`",
  );
}

type Fetch = typeof globalThis.fetch;

/** The latest time that `Date` supports. */
const MAX_TIME = 8.64e15;

/**
 * Reads `expires_in`. Some servers send 0, -1, null or words for "no limit" or "unknown". The lifetime is then unknown, and
 * the token is used until the server rejects it.
 *
 * @returns undefined if it is not a number of seconds (as a number or as text) of at least 1
 */
export function readLifetimeMs(expiresIn: unknown): number | undefined {
  const isText = typeof expiresIn === "string" && expiresIn.trim() !== "";
  if (typeof expiresIn !== "number" && !isText) return undefined;
  const ms = Number(expiresIn) * 1_000;
  return ms >= 1_000 && Date.now() + ms <= MAX_TIME ? ms : undefined;
}

/**
 * Removes an unknown lifetime from token responses. The SDK rejects a whole response with a word in `expires_in`, and reads
 * null as 0.
 */
export function dropUnknownLifetimes(fetch: Fetch): Fetch {
  return async (input, init) => {
    const response = await fetch(input, init);
    if (!response.ok || init?.method !== "POST") return response;
    const body: unknown = await response
      .clone()
      .json()
      .catch(() => undefined);
    if (typeof body !== "object" || body === null || !("expires_in" in body)) return response;
    if (readLifetimeMs(body.expires_in) !== undefined) return response;
    const { expires_in: _, ...rest } = body;
    const headers = new Headers(response.headers);
    headers.delete("content-length");
    return new Response(JSON.stringify(rest), { status: response.status, headers });
  };
}
