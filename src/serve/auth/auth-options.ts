/** The options of a gateway that say who its users are: `auth`, `principal` and `identify`. */

/** Algorithms of signatures that a gateway accepts. All are asymmetric. */
export const SIGNING_ALGORITHMS = [
  ...["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"],
  ...["ES256", "ES384", "ES512", "EdDSA", "Ed25519"],
] as const;

/** A key set of RFC 7517. */
export interface KeySet {
  readonly keys: readonly Readonly<Record<string, unknown>>[];
}

/** The user that {@link GatewayAuth.verify} found. */
export interface VerifiedUser {
  /** Whose port serves the request (`as(principal)`). Never taken from a header that was not verified. */
  readonly principal: string;
  /** @default [] */
  readonly scopes?: readonly string[];
  /** When the credential ends, in milliseconds since 1970; open streams end then. @default it does not end */
  readonly expiresAt?: number;
}

/** The gateway as a client of the issuer, for the login on its connect pages. */
export interface ConnectClient {
  /** The id of a client that is registered at the issuer with the redirect URI `<url>/connect/login`. */
  clientId: string;
  /** @default a public client, protected by PKCE alone */
  clientSecret?: string;
  /** Scopes to request in addition to `openid`. @default [] */
  scopes?: readonly string[];
}

/**
 * How clients of a gateway prove who their user is. Give one of `issuer`, `verify` and `token`. See docs/gateway-users.md.
 *
 * @example
 * ```ts
 * createGateway(toolport, {
 *   url: "https://tools.example.com/mcp",
 *   auth: { issuer: "https://login.example.com", scopes: ["tools:use"] },
 * });
 * ```
 */
export interface GatewayAuth {
  /** Accepts access tokens (JWT) of this issuer. The text is compared with `iss` character by character. */
  issuer?: string;
  /** The audience that tokens must name; one of several. @default the `url` of the gateway */
  audience?: string | readonly string[];
  /** The keys of the issuer, or the URL of its key set. @default `jwks_uri` in the metadata of the issuer */
  jwks?: string | URL | KeySet;
  /** Accepted algorithms. Only asymmetric ones are possible. @default all that Toolport knows (RS, PS, ES, EdDSA) */
  algorithms?: readonly string[];
  /** Scopes that every token needs. A token without one of them gets 403 `insufficient_scope`. @default [] */
  scopes?: readonly string[];
  /**
   * Checks requests with code of your own. Return undefined to reject a request with 401. An error becomes 503, and the
   * client does not see its message. The result is not cached.
   *
   * @example
   * ```ts
   * auth: {
   *   verify: async (request) => {
   *     const user = await sessions.find(request.headers.get("authorization"));
   *     return user && { principal: user.id, expiresAt: user.sessionEndsAt };
   *   },
   * }
   * ```
   */
  verify?(request: Request): VerifiedUser | undefined | Promise<VerifiedUser | undefined>;
  /** Accepts only this token, of at least 32 characters. All requests use the plain port. */
  token?: string;
  /** Lets users log in at upstream servers: the connect page first lets them log in at `issuer`. Needs `issuer` and `url`. */
  connect?: ConnectClient;
}

/** The options of a gateway that concern users. */
export interface GatewayUserOptions {
  /** The address that clients use, e.g. `https://tools.example.com/mcp`: audience, metadata and connect pages follow from it. */
  url?: string | URL;
  /** The path of the MCP endpoint at this process. @default "/mcp" */
  path?: string;
  /**
   * How clients prove who their user is. Required over HTTP; `false` accepts every request.
   *
   * @default none: requests over HTTP need it
   */
  auth?: GatewayAuth | false;
  /**
   * The name of a user, for `as(principal)`. It is called for access tokens and for the ID tokens of the connect page, so use
   * claims that both contain. Return undefined to reject a user with 403.
   *
   * @default issuer and subject
   */
  principal?: (token: TokenClaims) => string | undefined;
  /**
   * Names the user whose browser opens a connect page, for example by the session cookie of your application. Return undefined
   * to reject the request, or a `Response` (a redirect to your login page). It replaces the login of `auth.connect`.
   *
   * @default the login of `auth.connect`
   */
  identify?: (request: Request) => string | Response | undefined | Promise<string | Response | undefined>;
}

/** The user of a request. */
export interface Identity {
  /** Whose port serves the request (`as(principal)`). Undefined: the plain port (a local token, or `auth: false`). */
  readonly principal: string | undefined;
  /** The scopes that were granted to the client. */
  readonly scopes: readonly string[];
  /** When the credential ends, in milliseconds since 1970; open streams end then. Undefined: it does not end. */
  readonly expiresAt?: number | undefined;
}

/** The response to a request without a valid credential. */
export interface Rejection {
  /** 401: no valid credential. 403: not enough scopes, or not a user of this gateway. 503: it could not be checked. */
  readonly status: 401 | 403 | 503;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON. */
  readonly body: string;
}

export const isRejection = (outcome: Identity | Rejection): outcome is Rejection => "status" in outcome;

/** What a verified token says about its user. */
export interface TokenClaims {
  readonly issuer: string;
  readonly subject: string;
  readonly scopes: readonly string[];
  /** All claims, as the issuer wrote them. */
  readonly claims: Readonly<Record<string, unknown>>;
}

/** A user by issuer and subject: two issuers may use the same subject. */
export const defaultPrincipal = ({ issuer, subject }: TokenClaims): string =>
  JSON.stringify([issuer, subject]);
