/** The OAuth options of a server entry, and their reader. All are optional: most servers publish what they need. */

import {
  type EntryReader,
  type OptionTable,
  readChoice,
  readFlag,
  readIf,
  readObject,
  readText,
  readTexts,
  readWebAddress,
} from "@toolport/base";
import { SecretValue } from "./known-secrets.js";

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

const readPrivateKey = readIf<PrivateKeySource>(
  (key) =>
    typeof key === "string" ? key.trim() !== "" : typeof key === "object" && key !== null && "kty" in key,
  "must be a private key in PEM form (PKCS#8) or a JWK (it is not shown)",
);

/** The authorization of a server. `false`: the port does not authorize it, whatever the options of the port are. */
export type OAuthConfig = SecretValue<OAuthOptions> | false | undefined;

const OAUTH_OPTIONS = {
  grant: { read: readChoice(["authorization_code", "client_credentials", "jwt-bearer", "enterprise"]) },
  clientId: { read: readText },
  clientSecret: { read: readText },
  privateKey: { read: readPrivateKey },
  algorithm: { read: readText },
  scopes: { read: readScopes },
  clientMetadataUrl: { read: (reader, key) => readWebAddress(reader, key, { path: true }) },
  clientName: { read: readText },
  redirectUrl: { read: (reader, key) => readWebAddress(reader, key, { loopback: true }) },
  issuer: { read: readText },
  assertion: { read: readTextSource },
  enterprise: { read: readEnterprise },
  dpop: { read: readFlag },
  allowedHosts: { read: readTexts },
} as const satisfies OptionTable<OAuthOptions>;

const ENTERPRISE_OPTIONS = {
  issuer: { read: readText },
  tokenEndpoint: { read: readText },
  clientId: { read: readText, required: "is missing" },
  clientSecret: { read: readText },
  idToken: { read: readTextSource, required: "is missing" },
} as const satisfies OptionTable<EnterpriseAuthorization>;

/** The field `oauth` of an HTTP server. */
export function readOAuth(reader: EntryReader): OAuthConfig {
  const given = reader.raw("oauth");
  if (given === undefined || given === false) return given;
  if (reader.has("authProvider")) {
    return reader.report("oauth", 'cannot be combined with "authProvider"; give only one of them');
  }
  if (given === true) return new SecretValue({});
  const options = readObject<OAuthOptions>(OAUTH_OPTIONS)(reader, "oauth");
  if (options === undefined) return undefined;
  checkGrant(options, (key, message) => reader.report(["oauth", key], message));
  return new SecretValue(options);
}

function readScopes(reader: EntryReader): readonly string[] | string | undefined {
  return typeof reader.raw("scopes") === "string" ? reader.text("scopes") : reader.texts("scopes");
}

function readTextSource(reader: EntryReader, key: string): OAuthOptions["assertion"] {
  const value = reader.raw(key);
  if (typeof value === "function") return value as () => string | Promise<string>;
  return reader.text(key);
}

function readEnterprise(reader: EntryReader, key: string): EnterpriseAuthorization | undefined {
  const options = readObject<EnterpriseAuthorization>(ENTERPRISE_OPTIONS)(reader, key);
  if (options !== undefined && options.issuer === undefined && options.tokenEndpoint === undefined)
    reader.report([key, "issuer"], "is missing");
  return options;
}

/** Reports missing options of a grant now, not at the first login. */
function checkGrant(options: OAuthOptions, report: (key: keyof OAuthOptions, message: string) => void): void {
  const { grant, clientId, clientSecret, privateKey, assertion, enterprise } = options;
  if (grant === "client_credentials") {
    if (clientId === undefined) report("clientId", "is required for client_credentials");
    if (clientSecret === undefined && privateKey === undefined) {
      report("clientSecret", 'or "privateKey" is required for client_credentials');
    }
  }
  if (grant === "jwt-bearer" && assertion === undefined) report("assertion", "is required for jwt-bearer");
  if (grant === "enterprise" && enterprise === undefined) {
    report("enterprise", 'is required for the grant "enterprise"');
  }
  if ((clientSecret !== undefined || privateKey !== undefined) && clientId === undefined) {
    report("clientId", "is required with a secret or a key");
  }
}
