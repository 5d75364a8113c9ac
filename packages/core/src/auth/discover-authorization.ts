/** Discovers the authorization server of an MCP server. Runs before every login, because the result may change. */
import type {
  AuthorizationServerMetadata,
  OAuthProtectedResourceMetadata,
} from "@modelcontextprotocol/client";
import { readField } from "@toolport/base";
import { authFailed, authUnavailable, issuerMismatch, observeFetch } from "./oauth-context.js";

/** The authorization server and the resource to request tokens for. */
export interface AuthorizationInfo {
  readonly issuer: string;
  /** Undefined for servers of revision 2025-03-26 without metadata, whose endpoints have default paths. */
  readonly metadata: AuthorizationServerMetadata | undefined;
  /** The `resource` parameter: the server's URL as the server spells it. */
  readonly resource: string;
  /** Scopes from the protected resource metadata. */
  readonly scopesSupported: readonly string[] | undefined;
}

interface DiscoverParts {
  readonly serverUrl: URL;
  readonly fetch: typeof globalThis.fetch;
  /** From the `WWW-Authenticate` challenge. */
  readonly resourceMetadataUrl?: URL | undefined;
  /** `oauth.issuer`: no other issuer is accepted. */
  readonly expectedIssuer?: string | undefined;
  /** Issuer of the stored credentials. */
  readonly knownIssuer?: string | undefined;
}

/** @throws AuthError, or ConnectionError if an address is not allowed */
export async function discoverAuthorization(parts: DiscoverParts): Promise<AuthorizationInfo> {
  const described = await describeResource(parts);
  const resource = await resourceOf(described, parts.serverUrl);
  const scopesSupported = described?.scopes_supported;
  const named = described?.authorization_servers ?? [];
  if (named.length > 0 || parts.expectedIssuer !== undefined) {
    const issuer = chooseIssuer(named, parts);
    const metadata = await readMetadata(issuer, parts.fetch);
    if (metadata === undefined) {
      throw authFailed("The authorization server publishes no metadata", "Ask the server's operator");
    }
    if (metadata.issuer !== issuer) throw otherIssuer();
    return { issuer, metadata, resource, scopesSupported };
  }
  return { ...(await discoverAtServerOrigin(parts)), resource, scopesSupported };
}

/** Revision 2025-03-26: the server's own origin is the authorization server. */
async function discoverAtServerOrigin({
  serverUrl,
  fetch,
  knownIssuer,
}: DiscoverParts): Promise<Pick<AuthorizationInfo, "issuer" | "metadata">> {
  const root = new URL("/", serverUrl).href;
  // Here the issuer is derived and not published, so it may be spelled with or without the final slash.
  const spellings = [root, root.slice(0, -1)];
  if (knownIssuer !== undefined && !spellings.includes(knownIssuer)) {
    throw authFailed(
      "The server no longer names its authorization server",
      "Try again later; log out first if the server now issues tokens itself",
      { retryable: true },
    );
  }
  const metadata = await readMetadata(root, fetch);
  if (metadata !== undefined && !spellings.includes(metadata.issuer)) throw otherIssuer();
  return { issuer: metadata?.issuer ?? root, metadata };
}

/** The configured issuer, else the issuer of the stored credentials if the server still names it, else the first one. */
function chooseIssuer(named: readonly string[], { expectedIssuer, knownIssuer }: DiscoverParts): string {
  if (expectedIssuer !== undefined) {
    // Use the configured spelling. Some servers add a slash to it.
    const isNamed = [expectedIssuer, `${expectedIssuer}/`].some((spelling) => named.includes(spelling));
    if (named.length === 0 || isNamed) return expectedIssuer;
    throw issuerMismatch(
      "The server names another authorization server than `oauth.issuer`",
      "Correct `oauth.issuer` if you know that the server has moved",
    );
  }
  return knownIssuer !== undefined && named.includes(knownIssuer) ? knownIssuer : named[0]!;
}

const otherIssuer = () =>
  issuerMismatch("The authorization server's metadata names another issuer than the MCP server does");

async function describeResource(parts: DiscoverParts): Promise<OAuthProtectedResourceMetadata | undefined> {
  const { resourceMetadataUrl } = parts;
  const described = resourceMetadataUrl && (await readResourceMetadata(parts, resourceMetadataUrl));
  return described ?? readResourceMetadata(parts, undefined);
}

/** Undefined if the server publishes none at this URL. */
async function readResourceMetadata(
  { serverUrl, fetch }: DiscoverParts,
  resourceMetadataUrl: URL | undefined,
): Promise<OAuthProtectedResourceMetadata | undefined> {
  const { discoverOAuthProtectedResourceMetadata } = await import("@modelcontextprotocol/client");
  const observed = observeFetch(fetch);
  try {
    const options = resourceMetadataUrl === undefined ? {} : { resourceMetadataUrl };
    return await discoverOAuthProtectedResourceMetadata(serverUrl, options, observed.fetch);
  } catch (error) {
    const status = observed.status();
    if (status !== undefined && status >= 300 && status < 500) return undefined;
    // Many web applications respond to any path with their front page.
    const isGuess = resourceMetadataUrl === undefined;
    if (status !== undefined && status < 300 && isGuess && readField(error, "name") === "SyntaxError")
      return undefined;
    throw authUnavailable("The server's protected resource metadata could not be read", error);
  }
}

async function readMetadata(
  issuer: string,
  fetch: typeof globalThis.fetch,
): Promise<AuthorizationServerMetadata | undefined> {
  const { discoverAuthorizationServerMetadata } = await import("@modelcontextprotocol/client");
  try {
    // The SDK's check ignores a final slash; the caller compares exactly.
    return await discoverAuthorizationServerMetadata(issuer, { fetchFn: fetch, skipIssuerValidation: true });
  } catch (error) {
    throw authUnavailable("The authorization server's metadata could not be read", error);
  }
}

async function resourceOf(
  described: OAuthProtectedResourceMetadata | undefined,
  serverUrl: URL,
): Promise<string> {
  const { checkResourceAllowed, resourceUrlFromServerUrl } = await import("@modelcontextprotocol/client");
  const requestedResource = resourceUrlFromServerUrl(serverUrl);
  if (described === undefined) return requestedResource.href;
  if (checkResourceAllowed({ requestedResource, configuredResource: described.resource })) {
    // As published: some authorization servers compare it exactly.
    return described.resource;
  }
  throw authFailed(
    "The server's protected resource metadata is for another URL",
    "Check the server's URL; a token for another server is never requested",
  );
}

export interface AuthorizationServer {
  readonly issuer: string;
  readonly tokenEndpoint: string;
  readonly revocationEndpoint?: string | undefined;
  /** Supported client authentication methods; empty if the metadata does not list them. */
  readonly authMethods: readonly string[];
}

export function toAuthorizationServer({ issuer, metadata }: AuthorizationInfo): AuthorizationServer {
  // The SDK's type has this field for OAuth metadata only; OpenID metadata may contain it too.
  const revocation: unknown = metadata && Reflect.get(metadata, "revocation_endpoint");
  return {
    issuer,
    tokenEndpoint: metadata?.token_endpoint ?? new URL("/token", issuer).href,
    ...(typeof revocation === "string" && { revocationEndpoint: revocation }),
    authMethods: metadata?.token_endpoint_auth_methods_supported ?? [],
  };
}

/** Reads a saved record; undefined if it is invalid. */
export function readAuthorizationServer(value: unknown): AuthorizationServer | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { issuer, tokenEndpoint, authMethods } = value as Partial<AuthorizationServer>;
  const isWhole =
    typeof issuer === "string" && typeof tokenEndpoint === "string" && Array.isArray(authMethods);
  return isWhole ? (value as AuthorizationServer) : undefined;
}
