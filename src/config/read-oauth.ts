/** Reads the option `oauth` of a server entry. */
import { canParseUrl } from "../util/can-parse-url.js";
import type { EntryReader } from "./entry-reader.js";
import type { EnterpriseAuthorization, OAuthOptions } from "./oauth-options.js";
import { type OptionTable, readChoice, readFlag, readTable, readText, readTexts } from "./option-table.js";
import { SecretValue } from "./secret-record.js";

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

const LOOPBACK = ["localhost", "127.0.0.1", "[::1]"];

/** The field `oauth` of an HTTP server. */
export function readOAuth(reader: EntryReader): OAuthConfig {
  const given = reader.raw("oauth");
  if (given === undefined || given === false) return given;
  if (reader.has("authProvider")) {
    return reader.report("oauth", 'cannot be combined with "authProvider"; give only one of them');
  }
  if (given === true) return new SecretValue({});
  const inner = reader.inner("oauth");
  if (inner === undefined) return undefined;
  inner.rejectUnknown(Object.keys(OAUTH_OPTIONS));
  const read = Object.entries(readTable<OAuthOptions>(OAUTH_OPTIONS, inner));
  const options: OAuthOptions = Object.fromEntries(read.filter(([, value]) => value !== undefined));
  checkGrant(inner, options);
  return new SecretValue(Object.freeze(options));
}

function readPrivateKey(reader: EntryReader): OAuthOptions["privateKey"] {
  const key = reader.raw("privateKey");
  if (key === undefined) return undefined;
  if (typeof key === "string" && key.trim() !== "") return key;
  if (typeof key === "object" && key !== null && "kty" in key) return key as Record<string, unknown>;
  return reader.report("privateKey", "must be a private key in PEM form (PKCS#8) or a JWK (it is not shown)");
}

function readScopes(reader: EntryReader): readonly string[] | string | undefined {
  return typeof reader.raw("scopes") === "string" ? reader.text("scopes") : reader.texts("scopes");
}

function readTextSource(reader: EntryReader, key: string): OAuthOptions["assertion"] {
  const value = reader.raw(key);
  if (typeof value === "function") return value as () => string | Promise<string>;
  return reader.text(key);
}

/** An https URL; with `loopback`, also an http URL on this machine. */
export function readWebAddress(
  reader: EntryReader,
  key: string,
  { loopback = false, path = false }: { loopback?: boolean; path?: boolean } = {},
): string | undefined {
  const value = reader.raw(key);
  if (value === undefined) return undefined;
  const text = String(value);
  if (!canParseUrl(text)) return reader.report(key, "must be an absolute URL");
  const url = new URL(text);
  const isLocal = loopback && url.protocol === "http:" && LOOPBACK.includes(url.hostname);
  if (url.protocol !== "https:" && !isLocal) {
    return reader.report(key, loopback ? "must be https, or http on this machine" : "must be https");
  }
  if (url.username !== "" || url.password !== "" || url.hash !== "") {
    return reader.report(key, "must not contain a user name, a password or a fragment");
  }
  if (path && url.pathname === "/") return reader.report(key, "must have a path");
  // Not normalised: authorization servers compare the text character by character.
  return text;
}

function readEnterprise(reader: EntryReader): EnterpriseAuthorization | undefined {
  const inner = reader.inner("enterprise");
  if (inner === undefined) return undefined;
  inner.rejectUnknown(["issuer", "tokenEndpoint", "clientId", "clientSecret", "idToken"]);
  const [issuer, tokenEndpoint] = [inner.text("issuer"), inner.text("tokenEndpoint")];
  const clientSecret = inner.text("clientSecret");
  const clientId = inner.text("clientId") ?? inner.report("clientId", "is missing") ?? "";
  const idToken = readTextSource(inner, "idToken") ?? inner.report("idToken", "is missing") ?? "";
  if (issuer === undefined && tokenEndpoint === undefined) inner.report("issuer", "is missing");
  return Object.freeze({
    clientId,
    idToken,
    ...(issuer !== undefined && { issuer }),
    ...(tokenEndpoint !== undefined && { tokenEndpoint }),
    ...(clientSecret !== undefined && { clientSecret }),
  });
}

/** Reports missing options of a grant now, not at the first login. */
function checkGrant(reader: EntryReader, options: OAuthOptions): void {
  const { grant, clientId, clientSecret, privateKey, assertion, enterprise } = options;
  if (grant === "client_credentials") {
    if (clientId === undefined) reader.report("clientId", "is required for client_credentials");
    if (clientSecret === undefined && privateKey === undefined) {
      reader.report("clientSecret", 'or "privateKey" is required for client_credentials');
    }
  }
  if (grant === "jwt-bearer" && assertion === undefined)
    reader.report("assertion", "is required for jwt-bearer");
  if (grant === "enterprise" && enterprise === undefined) {
    reader.report("enterprise", 'is required for the grant "enterprise"');
  }
  if ((clientSecret !== undefined || privateKey !== undefined) && clientId === undefined) {
    reader.report("clientId", "is required with a secret or a key");
  }
}
