/** Finds out who authorizes for a server, anew each time: the answer may have changed since the last login. */
import type {
  AuthorizationServerMetadata,
  OAuthProtectedResourceMetadata,
} from "@modelcontextprotocol/client";
import { readField } from "../errors/foreign-error.js";
import { authFailed, authUnavailable, issuerMismatch } from "./auth-errors.js";
import { observeFetch } from "./oauth-context.js";

/** Who authorizes, and what for. */
export interface AuthorizationInfo {
  readonly issuer: string;
  /** Undefined: a server of the first revision, whose endpoints are at fixed places. */
  readonly metadata: AuthorizationServerMetadata | undefined;
  /** What tokens are asked for: the server, in the spelling it wants. */
  readonly resource: string;
  /** What the server says may be asked for. */
  readonly scopesSupported: readonly string[] | undefined;
}

export interface DiscoverParts {
  readonly serverUrl: URL;
  readonly fetch: typeof globalThis.fetch;
  /** From the challenge. */
  readonly resourceMetadataUrl?: URL | undefined;
  /** The only issuer the user wants. */
  readonly expectedIssuer?: string | undefined;
  /** The issuer of the credentials that are there already. */
  readonly knownIssuer?: string | undefined;
}

/** @throws AuthError, or ConnectionError for an address that may not be asked */
export async function discoverAuthorization(parts: DiscoverParts): Promise<AuthorizationInfo> {
  const described = await describeResource(parts);
  const resource = await resourceOf(described, parts.serverUrl);
  const scopesSupported = described?.scopes_supported;
  const named = described?.authorization_servers ?? [];
  if (named.length > 0 || parts.expectedIssuer !== undefined) {
    const issuer = chooseIssuer(named, parts);
    const metadata = await readMetadata(issuer, parts.fetch);
    if (metadata === undefined) {
      throw authFailed("The authorization server does not describe itself", "Ask the server's operator");
    }
    if (metadata.issuer !== issuer) throw otherIssuer();
    return { issuer, metadata, resource, scopesSupported };
  }
  return { ...(await discoverAtServerOrigin(parts)), resource, scopesSupported };
}

/** The server's own origin, as the revision 2025-03-26 had it. */
async function discoverAtServerOrigin({
  serverUrl,
  fetch,
  knownIssuer,
}: DiscoverParts): Promise<Pick<AuthorizationInfo, "issuer" | "metadata">> {
  const root = new URL("/", serverUrl).href;
  // Slash or no slash: nobody has spelled this one out, so there is nothing to compare it with byte for byte.
  const spellings = [root, root.slice(0, -1)];
  if (knownIssuer !== undefined && !spellings.includes(knownIssuer)) {
    throw authFailed(
      "The server no longer says who authorizes for it",
      "Try again later; log out first if it is to authorize by itself from now on",
      { retryable: true },
    );
  }
  const metadata = await readMetadata(root, fetch);
  if (metadata !== undefined && !spellings.includes(metadata.issuer)) throw otherIssuer();
  return { issuer: metadata?.issuer ?? root, metadata };
}

/** The one the user wants, the one that knows us, or the first. */
function chooseIssuer(named: readonly string[], { expectedIssuer, knownIssuer }: DiscoverParts): string {
  if (expectedIssuer !== undefined) {
    // The user's spelling counts. Some servers add a slash to what they were told.
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
  issuerMismatch("The authorization server calls itself by another name than the server does");

async function describeResource(parts: DiscoverParts): Promise<OAuthProtectedResourceMetadata | undefined> {
  const { resourceMetadataUrl } = parts;
  const described = resourceMetadataUrl && (await readResourceMetadata(parts, resourceMetadataUrl));
  return described ?? readResourceMetadata(parts, undefined);
}

/** Undefined if the server has none there. */
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
    // Many a web application answers any path with its front page.
    const isGuess = resourceMetadataUrl === undefined;
    if (status !== undefined && status < 300 && isGuess && readField(error, "name") === "SyntaxError")
      return undefined;
    throw authUnavailable("The server's description of its authorization could not be read", error);
  }
}

async function readMetadata(
  issuer: string,
  fetch: typeof globalThis.fetch,
): Promise<AuthorizationServerMetadata | undefined> {
  const { discoverAuthorizationServerMetadata } = await import("@modelcontextprotocol/client");
  try {
    // The SDK overlooks a slash; the comparison is ours.
    return await discoverAuthorizationServerMetadata(issuer, { fetchFn: fetch, skipIssuerValidation: true });
  } catch (error) {
    throw authUnavailable("The authorization server's description of itself could not be read", error);
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
    // As published: some authorization servers compare it letter by letter.
    return described.resource;
  }
  throw authFailed(
    "The server's description of its authorization is for another address",
    "Check the URL; a token for one server must not be asked for by another",
  );
}

export interface AuthorizationServer {
  readonly issuer: string;
  readonly tokenEndpoint: string;
  readonly revocationEndpoint?: string | undefined;
  /** How clients may authenticate; empty: it does not say. */
  readonly authMethods: readonly string[];
}

export function toAuthorizationServer({ issuer, metadata }: AuthorizationInfo): AuthorizationServer {
  // The SDK reads it of OAuth's metadata, and lets it pass in OpenID's.
  const revocation: unknown = metadata && Reflect.get(metadata, "revocation_endpoint");
  return {
    issuer,
    tokenEndpoint: metadata?.token_endpoint ?? new URL("/token", issuer).href,
    ...(typeof revocation === "string" && { revocationEndpoint: revocation }),
    authMethods: metadata?.token_endpoint_auth_methods_supported ?? [],
  };
}

/** Reads a saved one back; undefined if it is none. */
export function readAuthorizationServer(value: unknown): AuthorizationServer | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { issuer, tokenEndpoint, authMethods } = value as Partial<AuthorizationServer>;
  const isWhole =
    typeof issuer === "string" && typeof tokenEndpoint === "string" && Array.isArray(authMethods);
  return isWhole ? (value as AuthorizationServer) : undefined;
}
