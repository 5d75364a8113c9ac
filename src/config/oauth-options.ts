/** The OAuth options of a server entry. All are optional: most servers publish what they need. */

/** A text, or a function that is called each time the text is needed. Its result is never saved. */
type TextSource = string | (() => string | Promise<string>);

/** A key for `private_key_jwt`: PEM (PKCS#8) or a private JWK. */
export type PrivateKeySource = string | Readonly<Record<string, unknown>>;

/** Enterprise-managed authorization: the company's identity provider authenticates the user (ID-JAG). */
export interface EnterpriseAuthorization {
  /** The identity provider's issuer, whose metadata names its token endpoint. */
  issuer?: string;
  /** The identity provider's token endpoint, if it has no metadata. */
  tokenEndpoint?: string;
  /** The client id of this application at the identity provider. */
  clientId: string;
  clientSecret?: string;
  /** The user's ID token from the identity provider. */
  idToken: TextSource;
}

/**
 * OAuth of one server.
 *
 * @example
 * ```ts
 * const entry: ServerEntry = {
 *   url: "https://example.com/mcp",
 *   oauth: { redirectUrl: "https://app.example.com/oauth/callback", scopes: ["read"] },
 * };
 * ```
 */
export interface OAuthOptions {
  /** How tokens are obtained: by a login of the user, or by the program itself. @default "authorization_code" */
  grant?: "authorization_code" | "client_credentials" | "jwt-bearer" | "enterprise";
  /** The id of a client that was registered beforehand. @default a client metadata document or dynamic registration */
  clientId?: string;
  clientSecret?: string;
  /** Authenticates the client by a signed assertion instead of a secret (`private_key_jwt`). */
  privateKey?: PrivateKeySource;
  /** Signature algorithm of `privateKey`. @default "ES256" */
  algorithm?: string;
  /** Scopes to request, together with those that the server names in its 401 or 403 response. @default the scopes in the server's metadata */
  scopes?: readonly string[] | string;
  /** An https URL of a client metadata document, for servers that accept such a URL as client id. */
  clientMetadataUrl?: string;
  /** The name that users see if the client is registered dynamically. @default the name of `clientInfo` */
  clientName?: string;
  /** The URL to which the browser returns after a login. @default `callbackUrl` of the port */
  redirectUrl?: string | URL;
  /** The only authorization server that may see these credentials. Set it if other authorization servers must not receive the secret or key. */
  issuer?: string;
  /** With `grant: "jwt-bearer"`: a token from the platform that the program runs on (workload identity). */
  assertion?: TextSource;
  /** With `grant: "enterprise"`: the identity provider. */
  enterprise?: EnterpriseAuthorization;
  /** Bind tokens to a key in this store (DPoP). @default false */
  dpop?: boolean;
  /** Private addresses that metadata may refer to, as `host` or `host:port`. @default none */
  allowedHosts?: readonly string[];
}
