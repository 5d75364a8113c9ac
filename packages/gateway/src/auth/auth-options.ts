/** The options of a gateway that say who its users are (`auth`, `principal`, `identify`), and their reader, which reports every problem at once. */

import {
  ConfigIssues,
  EntryReader,
  isRecord,
  type OptionTable,
  readFunction,
  readObject,
  readText,
  readWebAddress,
} from "@toolport/base";

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

/** The checked options. */
export interface AuthSettings {
  readonly mode: "off" | "token" | "verify" | "jwt";
  /** Undefined: the gateway does not know its own address. */
  readonly addresses: GatewayAddresses | undefined;
  readonly token?: string | undefined;
  readonly verify?: GatewayAuth["verify"] | undefined;
  readonly issuer?: string | undefined;
  readonly audiences: readonly string[];
  /** A URL, keys, or undefined: discover the URL. */
  readonly jwks?: string | KeySet | undefined;
  readonly algorithms: readonly string[];
  readonly scopes: readonly string[];
  readonly connect?: ConnectClient | undefined;
  readonly principal: NonNullable<GatewayUserOptions["principal"]>;
  readonly identify: GatewayUserOptions["identify"];
}

/** Options that say something only together with `issuer`. */
const OF_ISSUER = ["audience", "jwks", "algorithms", "connect"] as const satisfies (keyof GatewayAuth)[];

const MIN_TOKEN_LENGTH = 32;

/**
 * Reads the options `auth`, `url`, `path`, `principal` and `identify`.
 *
 * @throws ConfigError also if there is no `auth`: call it before the first request over HTTP
 */
export function readAuthOptions(options: GatewayUserOptions): AuthSettings {
  const issues = new ConfigIssues("createGateway");
  const reader = new EntryReader(options as Readonly<Record<string, unknown>>, [], issues);
  const addresses = readAddresses(reader);
  const auth = readAuth(reader);
  const identify = readFunction<NonNullable<GatewayUserOptions["identify"]>>(reader, "identify");
  const principal = readFunction<NonNullable<GatewayUserOptions["principal"]>>(reader, "principal");
  const needsUrl = identify === undefined ? auth?.has("connect") && "auth.connect" : "identify";
  if (needsUrl && !reader.has("url"))
    reader.report("url", `is missing; \`${needsUrl}\` needs the address that browsers use`);
  const settings = {
    addresses,
    principal: principal ?? defaultPrincipal,
    identify,
    ...(auth === undefined ? OFF : readFields(auth, addresses)),
  };
  issues.throwIfAny();
  return settings;
}

function readAddresses(reader: EntryReader): GatewayAddresses | undefined {
  const path = reader.text("path") ?? "/mcp";
  if (!path.startsWith("/")) reader.report("path", 'must start with "/"');
  const url = readWebAddress(reader, "url", { loopback: true });
  return url === undefined || !path.startsWith("/") ? undefined : gatewayAddresses(url, path);
}

/** Undefined: `auth: false`, or a problem was reported. */
function readAuth(reader: EntryReader): EntryReader | undefined {
  if (reader.raw("auth") === false) return undefined;
  if (!reader.has("auth")) {
    return reader.report(
      "auth",
      "is missing; requests over HTTP need `auth.issuer`, `auth.verify` or `auth.token`. `auth: false` accepts every request",
    );
  }
  return reader.inner("auth");
}

type Fields = Omit<AuthSettings, "addresses" | "principal" | "identify">;

const OFF: Fields = { mode: "off", audiences: [], algorithms: [], scopes: [] };

function readFields(reader: EntryReader, addresses: GatewayAddresses | undefined): Fields {
  reader.rejectUnknown(["issuer", "scopes", "verify", "token", ...OF_ISSUER]);
  const issuer = readIssuer(reader);
  const verify = readFunction<NonNullable<GatewayAuth["verify"]>>(reader, "verify");
  const token = readToken(reader);
  const mode = reader.has("token") ? "token" : reader.has("verify") ? "verify" : "jwt";
  if (mode === "jwt" && !reader.has("issuer"))
    reader.report("issuer", "is missing; give `issuer`, `verify` or `token`");
  if (mode === "token") {
    for (const key of ["issuer", "verify", "scopes"] as const)
      if (reader.has(key)) reader.report(key, "cannot be combined with `token`");
  }
  for (const key of OF_ISSUER)
    if (reader.has(key) && !reader.has("issuer")) reader.report(key, "needs `issuer`");
  if (mode === "verify" && reader.has("audience"))
    reader.report("audience", "cannot be combined with `verify`, which checks the audience itself");
  const audiences = readAudiences(reader);
  if (mode === "jwt" && reader.has("issuer") && audiences.length === 0 && addresses === undefined)
    reader.report("audience", "is missing; give `auth.audience`, or the `url` of the gateway");
  return {
    mode,
    token,
    verify,
    issuer,
    audiences: audiences.length > 0 ? audiences : defaultAudiences(addresses),
    jwks: readKeys(reader),
    algorithms: readAlgorithms(reader),
    scopes: readScopes(reader, "scopes"),
    connect: readConnect(reader, "connect"),
  };
}

function readIssuer(reader: EntryReader): string | undefined {
  const issuer = readWebAddress(reader, "issuer", { loopback: true });
  if (issuer !== undefined && new URL(issuer).search !== "")
    return reader.report("issuer", "must not contain a query");
  return issuer;
}

function readToken(reader: EntryReader): string | undefined {
  const token = reader.text("token");
  if (token === undefined) return undefined;
  if (!/^[!-~]+$/.test(token)) return reader.report("token", "must contain visible ASCII characters only");
  if (token.length < MIN_TOKEN_LENGTH)
    return reader.report("token", `must have at least ${MIN_TOKEN_LENGTH} characters`);
  return token;
}

function readAudiences(reader: EntryReader): readonly string[] {
  if (typeof reader.raw("audience") === "string") return [reader.text("audience") ?? ""];
  const audiences = reader.texts("audience");
  if (audiences === undefined) return [];
  if (audiences.length === 0 || audiences.includes("")) reader.report("audience", "must not be empty");
  return audiences;
}

/** Some clients send the resource with a slash at the end. */
const defaultAudiences = (addresses: GatewayAddresses | undefined): readonly string[] =>
  addresses === undefined ? [] : [addresses.resource, `${addresses.resource}/`];

function readKeys(reader: EntryReader): AuthSettings["jwks"] {
  const value = reader.raw("jwks");
  if (value === undefined) return undefined;
  if (typeof value === "string" || value instanceof URL)
    return readWebAddress(reader, "jwks", { loopback: true });
  const keys = isRecord(value) ? value["keys"] : undefined;
  if (!Array.isArray(keys) || keys.length === 0)
    return reader.report("jwks", "must be a URL, or an object with a list of `keys`");
  for (const [index, key] of keys.entries()) {
    const problem = problemOfKey(key);
    if (problem !== undefined) reader.report(["jwks", "keys", index], problem);
  }
  return structuredClone({ keys });
}

/** Never shows a part of the key. */
function problemOfKey(key: unknown): string | undefined {
  if (!isRecord(key) || typeof key["kty"] !== "string") return "must be a JSON Web Key with `kty`";
  if (key["kty"] === "oct") return "is a symmetric key; give the public key of an asymmetric pair";
  return key["d"] === undefined ? undefined : "contains the private key; give only the public key";
}

function readAlgorithms(reader: EntryReader): readonly string[] {
  const algorithms = reader.texts("algorithms");
  if (algorithms === undefined) return SIGNING_ALGORITHMS;
  if (algorithms.length === 0) reader.report("algorithms", "must not be empty");
  const known: readonly string[] = SIGNING_ALGORITHMS;
  for (const [index, name] of algorithms.entries()) {
    if (!known.includes(name))
      reader.report(["algorithms", index], `must be an asymmetric algorithm, one of ${known.join(", ")}`);
  }
  return algorithms;
}

/** RFC 6749, 3.3. The characters also need no escape in a challenge. */
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]+$/;

function readScopes(reader: EntryReader, key: string): readonly string[] {
  const scopes = reader.texts(key) ?? [];
  for (const [index, scope] of scopes.entries())
    if (!SCOPE.test(scope)) reader.report([key, index], "must be one scope, without spaces and quotes");
  return scopes;
}

const CONNECT_OPTIONS = {
  clientId: { read: readText, required: "is missing" },
  clientSecret: { read: readText },
  scopes: { read: readScopes },
} as const satisfies OptionTable<ConnectClient>;

const readConnect = readObject<ConnectClient>(CONNECT_OPTIONS);

/** Where clients and browsers reach a gateway. */
export interface GatewayAddresses {
  /** The MCP endpoint: the resource of RFC 8707 and 9728, and the default audience of tokens. */
  readonly resource: string;
  /** The metadata document of RFC 9728. */
  readonly metadataUrl: string;
  /** The folder of the connect pages, without a slash at the end. */
  readonly connectUrl: string;
}

const WELL_KNOWN = "/.well-known/oauth-protected-resource";

/**
 * The addresses of a gateway.
 *
 * @param url the address that clients use. Without a path of its own, `path` is appended
 * @example
 * ```ts
 * gatewayAddresses("https://tools.example.com", "/mcp").resource; // "https://tools.example.com/mcp"
 * ```
 */
export function gatewayAddresses(url: string, path: string): GatewayAddresses {
  const { origin, pathname, search } = new URL(url);
  const given = withoutSlash(pathname);
  const own = given === "" ? withoutSlash(path) : given;
  // A proxy may add a prefix: the connect pages are beside the endpoint.
  const suffix = withoutSlash(path);
  const folder = own.endsWith(suffix) ? own.slice(0, own.length - suffix.length) : "";
  return {
    resource: `${origin}${own}${search}`,
    metadataUrl: `${origin}${WELL_KNOWN}${own}${search}`,
    connectUrl: `${origin}${folder}/connect`,
  };
}

/** Whether a request asks for the metadata document, at the address of the endpoint or at that of the whole host. */
export function isMetadataPath(pathname: string, { metadataUrl }: GatewayAddresses): boolean {
  if (!pathname.startsWith(WELL_KNOWN)) return false;
  const asked = withoutSlash(pathname);
  return asked === WELL_KNOWN || asked === withoutSlash(new URL(metadataUrl).pathname);
}

const withoutSlash = (pathname: string): string => pathname.replace(/\/+$/, "");
