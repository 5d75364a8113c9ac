/** What an entry may say about OAuth. Everything is optional: most servers tell how they want to be authorized. */

/** A function is asked each time the text is needed; its answer is never saved. */
type TextSource = string | (() => string | Promise<string>);

/** A key for `private_key_jwt`: PEM (PKCS#8) or a private JWK. */
export type PrivateKeySource = string | Readonly<Record<string, unknown>>;

/** Enterprise-managed authorization: the company's identity provider vouches for the user (ID-JAG). */
export interface EnterpriseAuthorization {
  /** The identity provider's issuer, whose metadata names its token endpoint. */
  issuer?: string;
  /** Its token endpoint, where there is no metadata. */
  tokenEndpoint?: string;
  /** This application at the identity provider. */
  clientId: string;
  clientSecret?: string;
  /** The user's ID token of the identity provider. */
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
  /** How tokens are got: by a user's login, or by the program itself. @default "authorization_code" */
  grant?: "authorization_code" | "client_credentials" | "jwt-bearer" | "enterprise";
  /** A client registered beforehand. @default a client metadata document or dynamic registration */
  clientId?: string;
  clientSecret?: string;
  /** Authenticates the client by a signed assertion instead of a secret (`private_key_jwt`). */
  privateKey?: PrivateKeySource;
  /** Of `privateKey`. @default "ES256" */
  algorithm?: string;
  /** Asked for together with what the server's refusal names. @default what the server's metadata lists */
  scopes?: readonly string[] | string;
  /** An https URL that describes this client, for servers that take such a URL as client id. */
  clientMetadataUrl?: string;
  /** Shown to the user where the client is registered dynamically. @default the name of `clientInfo` */
  clientName?: string;
  /** Where the user comes back to. @default the port's `callbackUrl` */
  redirectUrl?: string | URL;
  /** The only authorization server that may see these credentials. Needed where the secret or key is not for everybody. */
  issuer?: string;
  /** With `grant: "jwt-bearer"`: a token of the platform the program runs on (workload identity). */
  assertion?: TextSource;
  /** With `grant: "enterprise"`. */
  enterprise?: EnterpriseAuthorization;
  /** Bind tokens to a key that only this store has (DPoP). @default false */
  dpop?: boolean;
  /** Private addresses that metadata may name, as `host` or `host:port`. @default none */
  allowedHosts?: readonly string[];
}
