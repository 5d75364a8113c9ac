/** The OAuth client that this application uses at an authorization server, and how it authenticates. */
import type { AddClientAuthentication, OAuthClientMetadata } from "@modelcontextprotocol/client";
import { hasBrand } from "@toolport/base";
import { canonicalHost, isLoopbackHost } from "@toolport/http";
import type { OAuthOptions, PrivateKeySource } from "../config/read-oauth.js";
import { bindingKey, registrationKey, registrationLease } from "./credential-records.js";
import type { AuthorizationInfo } from "./discover-authorization.js";
import {
  authFailed,
  authRequired,
  authUnavailable,
  guardedFetchOf,
  issuerMismatch,
  nowOf,
  type OAuthContext,
  observeFetch,
} from "./oauth-context.js";
import { obtainOnce } from "./obtain-once.js";

/** A login of a user at an authorization server. */
export interface LoginParts {
  readonly context: OAuthContext;
  readonly info: AuthorizationInfo;
  readonly redirectUrl: string;
  readonly scope: string | undefined;
}

/** The client for a user's login: configured, else a metadata document, else registered, as the specification orders them. */
export async function resolveClient(parts: LoginParts): Promise<OAuthClient> {
  const { context, info } = parts;
  const { clientId, clientMetadataUrl } = context.options;
  if (clientId !== undefined) return useConfiguredClient(context, info);
  if (clientMetadataUrl !== undefined && info.metadata?.client_id_metadata_document_supported === true) {
    return { id: clientMetadataUrl, method: "none", source: "document" };
  }
  return (await findRegistration(parts)) ?? registerOnce(parts);
}

/** Concurrent logins, in this and in other processes, share one registration. */
async function registerOnce(parts: LoginParts): Promise<OAuthClient> {
  const { context, info, redirectUrl } = parts;
  const client = await obtainOnce<OAuthClient>({
    store: context.store,
    lease: registrationLease(info.issuer, redirectUrl, context.serverUrl),
    watch: registrationKey(info.issuer, redirectUrl, context.serverUrl),
    find: () => findRegistration(parts),
    obtain: () => register(parts),
    waitMs: REGISTRATION_WAIT_MS,
  });
  // After a timeout register once more: an extra client is better than a login that cannot start.
  return client === "late" || client === undefined ? register(parts) : client;
}

/**
 * A configured client belongs to one authorization server. If `oauth.issuer` does not name it, the first issuer at which
 * the client is used is saved, so that a server that later names another issuer does not get the secret sent there.
 */
export async function useConfiguredClient(
  { options, store, serverUrl }: OAuthContext,
  info: AuthorizationInfo,
): Promise<OAuthClient> {
  if (options.issuer === undefined) {
    const key = bindingKey(options.clientId ?? "", serverUrl);
    const bound = await store.get(key);
    if (bound === undefined) await store.put(key, { issuer: info.issuer }, { ifVersion: 0, secret: true });
    const { issuer } = ((await store.get(key))?.value ?? {}) as { issuer?: unknown };
    if (issuer !== info.issuer) {
      throw issuerMismatch(
        "The server names another authorization server than the one this client was used with before",
        "Set `oauth.issuer` if you know that the server has moved",
      );
    }
  }
  return configuredClient(options, info.metadata?.token_endpoint_auth_methods_supported ?? []);
}

interface Registration {
  readonly issuer: string;
  readonly client: OAuthClient;
  /** Scopes that the client may request; some authorization servers enforce this. */
  readonly scope?: string | undefined;
  /** Milliseconds since 1970; undefined: never. */
  readonly expiresAt?: number | undefined;
}

/** A secret has to stay valid at least this long, so that it does not expire during the login. */
const SECRET_MARGIN_MS = 3_600_000;
/** Shorter than the 15 s that other callers wait for the login that needs this registration. */
const REGISTRATION_WAIT_MS = 10_000;

async function findRegistration({
  context,
  info,
  redirectUrl,
  scope,
}: LoginParts): Promise<OAuthClient | undefined> {
  const found = await context.store.get(registrationKey(info.issuer, redirectUrl, context.serverUrl));
  if (found === undefined || !found.sealed) return undefined;
  const { issuer, client, expiresAt, scope: allowed } = found.value as Partial<Registration>;
  // More scopes than the client was registered for require a new registration.
  if (exceedsScope(scope, allowed)) return undefined;
  const hasEnded = expiresAt !== undefined && expiresAt - SECRET_MARGIN_MS < nowOf(context);
  return issuer === info.issuer && typeof client?.id === "string" && !hasEnded ? client : undefined;
}

async function register(parts: LoginParts): Promise<OAuthClient> {
  const { context, info, redirectUrl, scope } = parts;
  const { metadata } = info;
  if (metadata !== undefined && metadata.registration_endpoint === undefined) {
    throw authFailed(
      "The authorization server does not offer dynamic client registration",
      "Register this application there and set `oauth.clientId`",
    );
  }
  const { registerClient } = await import("@modelcontextprotocol/client");
  const observed = observeFetch(await guardedFetchOf(context));
  try {
    const registered = await registerClient(info.issuer, {
      ...(metadata !== undefined && { metadata }),
      clientMetadata: describeClient(parts),
      ...(scope !== undefined && { scope }),
      fetchFn: observed.fetch,
    });
    const { client_id: id, client_secret: secret, client_secret_expires_at: endsAt } = registered;
    const method = await selectAuthMethod(registered, metadata?.token_endpoint_auth_methods_supported ?? []);
    const client: OAuthClient = { id, method, source: "registered", ...(method !== "none" && { secret }) };
    const expiresAt = secret !== undefined && endsAt ? { expiresAt: endsAt * 1000 } : {};
    const allowed = uniteScopes(scope, registered.scope);
    const value: Registration = { issuer: info.issuer, client, scope: allowed, ...expiresAt };
    await context.store.put(registrationKey(info.issuer, redirectUrl, context.serverUrl), value, {
      secret: true,
    });
    return client;
  } catch (error) {
    throw registrationFailure(error, observed.status(), metadata !== undefined);
  }
}

function registrationFailure(error: unknown, status: number | undefined, isDescribed: boolean): Error {
  const isRefusal = hasBrand(error, "mcp.RegistrationRejectedError") && status !== undefined && status < 500;
  // Without metadata it may not be an OAuth server at all.
  if (isRefusal && !isDescribed) return authRequired(undefined);
  if (!isRefusal)
    return authUnavailable("The authorization server did not respond to the registration", error);
  return authFailed(
    "The authorization server rejected the registration of this client",
    "Register it by hand and set `oauth.clientId`",
    { status },
  );
}

function describeClient({ context, info, redirectUrl }: LoginParts): OAuthClientMetadata {
  const url = new URL(redirectUrl);
  // A native client may use http on this machine only, not https (OpenID Connect Registration, 2).
  const isNative = url.protocol === "http:" && isLoopbackHost(canonicalHost(url));
  const secrets = ["client_secret_basic", "client_secret_post"];
  // A program on the user's machine cannot keep a secret: prefer a public client.
  const wanted = isNative ? ["none", ...secrets] : [...secrets, "none"];
  const known = info.metadata?.token_endpoint_auth_methods_supported;
  const method = known === undefined ? undefined : wanted.find((one) => known.includes(one));
  return {
    client_name: context.options.clientName ?? context.clientName,
    redirect_uris: [redirectUrl],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    application_type: isNative ? "native" : "web",
    ...(method !== undefined && { token_endpoint_auth_method: method }),
  };
}

/** Deletes a registration that the authorization server no longer accepts. The next login registers the client again. */
export async function forgetRegistration(
  context: Pick<OAuthContext, "store" | "serverUrl">,
  { issuer, redirectUrl, clientId }: { issuer: string; redirectUrl: string; clientId: string | undefined },
): Promise<void> {
  const key = registrationKey(issuer, redirectUrl, context.serverUrl);
  const found = await context.store.get(key);
  const { client } = (found?.value ?? {}) as Partial<Registration>;
  // Another process may have registered the client again already.
  if (found !== undefined && (clientId === undefined || client?.id === clientId))
    await context.store.delete(key, { ifVersion: found.version });
}

/** A client registered at an authorization server. */
export interface OAuthClient {
  /** Undefined if an assertion identifies the client. */
  readonly id: string | undefined;
  readonly secret?: string | undefined;
  readonly privateKey?: PrivateKeySource | undefined;
  readonly algorithm?: string | undefined;
  readonly method: "none" | "client_secret_basic" | "client_secret_post" | "private_key_jwt";
  /** Configured by the user, described by a client ID metadata document, or registered dynamically. */
  readonly source: "configured" | "document" | "registered";
}

/** The client as it is saved with its tokens, without configured secrets. */
export function toSavedClient({ id, secret, method, source }: OAuthClient): OAuthClient {
  return { id, method, source, ...(source === "registered" && secret !== undefined && { secret }) };
}

/** A saved client with the configured secrets; undefined if another client is configured now. */
export function restoreClient(saved: OAuthClient, options: OAuthOptions): OAuthClient | undefined {
  if (saved.source !== "configured") return saved;
  if (saved.id !== options.clientId) return undefined;
  const { clientSecret, privateKey, algorithm } = options;
  return { ...saved, secret: clientSecret, privateKey, algorithm };
}

/** The client from the configuration. */
async function configuredClient(
  { clientId, clientSecret, privateKey, algorithm }: OAuthOptions,
  authMethods: readonly string[],
): Promise<OAuthClient> {
  const source = "configured";
  if (privateKey !== undefined)
    return { id: clientId, privateKey, algorithm, method: "private_key_jwt", source };
  const client = { client_id: clientId ?? "", client_secret: clientSecret };
  const method = await selectAuthMethod(client, authMethods);
  return { id: clientId, secret: clientSecret, method, source };
}

/** The authentication method that both sides support. */
async function selectAuthMethod(
  client: { client_id: string; client_secret?: string | undefined },
  authMethods: readonly string[],
): Promise<"none" | "client_secret_basic" | "client_secret_post"> {
  const { selectClientAuthMethod } = await import("@modelcontextprotocol/client");
  const method = selectClientAuthMethod(client as { client_id: string }, [...authMethods]);
  return client.client_secret === undefined ? "none" : method;
}

/** The function with which the SDK's token requests authenticate the client. */
export async function clientAuthenticator(client: OAuthClient): Promise<AddClientAuthentication> {
  const { id, secret = "", method, privateKey, algorithm = "ES256" } = client;
  if (id === undefined) return () => {};
  if (method === "private_key_jwt") {
    const { createPrivateKeyJwtAuth } = await import("@modelcontextprotocol/client");
    // The SDK's type is mutable, but the SDK does not change the object.
    const key = privateKey as string | Record<string, unknown>;
    return createPrivateKeyJwtAuth({ issuer: id, subject: id, privateKey: key, alg: algorithm });
  }
  return (headers, params) => {
    if (method === "client_secret_basic") {
      headers.set("authorization", `Basic ${btoa(`${formEncode(id)}:${formEncode(secret)}`)}`);
      return;
    }
    params.set("client_id", id);
    if (method === "client_secret_post") params.set("client_secret", secret);
  };
}

/** RFC 6749 §2.3.1 requires form encoding of both parts; the SDK sends them unencoded. */
const formEncode = (text: string): string => new URLSearchParams({ "": text }).toString().slice(1);

/** The words of a scope, or of a list of scopes. */
export const scopeWords = (scopes: readonly string[] | string | undefined): string[] =>
  (typeof scopes === "string" ? scopes.split(/\s+/) : [...(scopes ?? [])]).filter((word) => word !== "");

/** Joins scopes without duplicates. */
export function uniteScopes(...scopes: readonly (string | undefined)[]): string | undefined {
  const united = new Set(scopes.flatMap(scopeWords));
  return united.size === 0 ? undefined : [...united].join(" ");
}

/** Whether `wanted` contains a scope that `before` does not. `offline_access` does not count: it grants no access. */
export function exceedsScope(wanted: string | undefined, before: string | undefined): boolean {
  const had = new Set([...scopeWords(before), "offline_access"]);
  return scopeWords(wanted).some((word) => !had.has(word));
}
