/** Reads what an entry says about OAuth. */
import type { EntryReader } from "./entry-reader.js";
import type { EnterpriseAuthorization, OAuthOptions } from "./oauth-options.js";
import { SecretValue } from "./secret-value.js";
import type { OAuthConfig } from "./server-config.js";

const GRANTS = ["authorization_code", "client_credentials", "jwt-bearer", "enterprise"] as const;

const TEXTS = ["clientId", "clientSecret", "algorithm", "clientName", "issuer"] as const;

const KEYS = [
  ...TEXTS,
  ...["grant", "privateKey", "scopes", "clientMetadataUrl", "redirectUrl", "assertion", "enterprise", "dpop"],
  "allowedHosts",
];

const LOOPBACK = ["localhost", "127.0.0.1", "[::1]"];

/** The field `oauth` of an HTTP server. */
export function readOAuth(reader: EntryReader): OAuthConfig {
  const given = reader.raw("oauth");
  if (given === undefined || given === false) return given;
  if (reader.has("authProvider")) {
    return reader.report("oauth", 'cannot stand beside "authProvider"; give only one of them');
  }
  if (given === true) return new SecretValue({});
  const inner = reader.inner("oauth");
  if (inner === undefined) return undefined;
  inner.rejectUnknown(KEYS);
  const options = readOptions(inner);
  checkGrant(inner, options);
  return new SecretValue(Object.freeze(options));
}

function readOptions(reader: EntryReader): OAuthOptions {
  const fields: { -readonly [Key in keyof OAuthOptions]: OAuthOptions[Key] | undefined } = {
    grant: reader.choice("grant", GRANTS),
    privateKey: readPrivateKey(reader),
    scopes: readScopes(reader),
    clientMetadataUrl: readWebAddress(reader, "clientMetadataUrl", { path: true }),
    redirectUrl: readWebAddress(reader, "redirectUrl", { loopback: true }),
    assertion: readTextSource(reader, "assertion"),
    enterprise: readEnterprise(reader),
    dpop: reader.has("dpop") ? reader.flag("dpop", false) : undefined,
    allowedHosts: reader.has("allowedHosts") ? reader.texts("allowedHosts") : undefined,
  };
  for (const key of TEXTS) fields[key] = reader.text(key);
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

function readPrivateKey(reader: EntryReader): OAuthOptions["privateKey"] {
  const key = reader.raw("privateKey");
  if (key === undefined) return undefined;
  if (typeof key === "string" && key.trim() !== "") return key;
  if (typeof key === "object" && key !== null && "kty" in key) return key as Record<string, unknown>;
  return reader.report("privateKey", "must be a private key in PEM form (PKCS#8) or a JWK (it is not shown)");
}

function readScopes(reader: EntryReader): readonly string[] | string | undefined {
  return typeof reader.raw("scopes") === "string"
    ? reader.text("scopes")
    : reader.has("scopes")
      ? reader.texts("scopes")
      : undefined;
}

function readTextSource(reader: EntryReader, key: string): OAuthOptions["assertion"] {
  const value = reader.raw(key);
  if (typeof value === "function") return value as () => string | Promise<string>;
  return reader.text(key);
}

/** An https URL, or one on this machine where that is where the user comes back to. */
export function readWebAddress(
  reader: EntryReader,
  key: string,
  { loopback = false, path = false }: { loopback?: boolean; path?: boolean } = {},
): string | undefined {
  const value = reader.raw(key);
  if (value === undefined) return undefined;
  const text = String(value);
  if (!URL.canParse(text)) return reader.report(key, "must be an absolute URL");
  const url = new URL(text);
  const isLocal = loopback && url.protocol === "http:" && LOOPBACK.includes(url.hostname);
  if (url.protocol !== "https:" && !isLocal) {
    return reader.report(key, loopback ? "must be https, or http on this machine" : "must be https");
  }
  if (url.username !== "" || url.password !== "" || url.hash !== "") {
    return reader.report(key, "must hold neither a user name nor a fragment");
  }
  if (path && url.pathname === "/") return reader.report(key, "must have a path");
  // As written: authorization servers compare it letter by letter.
  return text;
}

function readEnterprise(reader: EntryReader): EnterpriseAuthorization | undefined {
  const inner = reader.inner("enterprise");
  if (inner === undefined) return undefined;
  inner.rejectUnknown(["issuer", "tokenEndpoint", "clientId", "clientSecret", "idToken"]);
  const [issuer, tokenEndpoint] = [inner.text("issuer"), inner.text("tokenEndpoint")];
  const clientSecret = inner.text("clientSecret");
  const clientId = inner.text("clientId") ?? inner.report("clientId", "is needed") ?? "";
  const idToken = readTextSource(inner, "idToken") ?? inner.report("idToken", "is needed") ?? "";
  if (issuer === undefined && tokenEndpoint === undefined) inner.report("issuer", "is needed");
  return Object.freeze({
    clientId,
    idToken,
    ...(issuer !== undefined && { issuer }),
    ...(tokenEndpoint !== undefined && { tokenEndpoint }),
    ...(clientSecret !== undefined && { clientSecret }),
  });
}

/** What a grant cannot do without is better missed here than at the first login. */
function checkGrant(reader: EntryReader, options: OAuthOptions): void {
  const { grant, clientId, clientSecret, privateKey, assertion, enterprise } = options;
  if (grant === "client_credentials") {
    if (clientId === undefined) reader.report("clientId", "is needed for client_credentials");
    if (clientSecret === undefined && privateKey === undefined) {
      reader.report("clientSecret", 'or "privateKey" is needed for client_credentials');
    }
  }
  if (grant === "jwt-bearer" && assertion === undefined)
    reader.report("assertion", "is needed for jwt-bearer");
  if (grant === "enterprise" && enterprise === undefined) {
    reader.report("enterprise", 'is needed for the grant "enterprise"');
  }
  if ((clientSecret !== undefined || privateKey !== undefined) && clientId === undefined) {
    reader.report("clientId", "is needed with a secret or a key");
  }
}
