/** Starts a user's login: creates the URL to open, and the record with which any process can finish the login. */
import type { AuthorizationServerMetadata } from "@modelcontextprotocol/client";
import type { Store, StoredRecord } from "../state/store.js";
import { checkLoginPage, checkPkce } from "../transports/http/credentials/checked-provider.js";
import type { AddressRuleOptions } from "../transports/http/network/address-rule.js";
import { authFailed } from "./auth-errors.js";
import { loginKey, loginLease, pendingKey } from "./credential-records.js";
import {
  type AuthorizationServer,
  readAuthorizationServer,
  toAuthorizationServer,
} from "./discover-authorization.js";
import { base64Url, sha256 } from "./dpop-session.js";
import { type InteractiveParts, type OAuthClient, resolveClient } from "./oauth-client.js";
import { nowOf, type OAuthContext } from "./oauth-context.js";
import { obtainOnce } from "./obtain-once.js";

/** A login that the user has not finished yet. */
interface StartedLogin {
  readonly authUrl: string;
  readonly stateHash: string;
  readonly issuer: string;
  readonly redirectUrl: string;
  readonly resource: string;
  readonly scope?: string | undefined;
  readonly clientId?: string | undefined;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
}

/** How long a user may take to log in. */
const PENDING_MS = 600_000;

/** A URL is reused for this long, so that the user has enough time left. */
const REUSE_MS = PENDING_MS * 0.8;

/** The URL of the login page. A started login is reused, also if another process started it. */
export async function startAuthorization(parts: InteractiveParts): Promise<string> {
  const { context, info } = parts;
  await checkAuthorizationServer(
    info.metadata,
    { ...context.options, serverUrl: context.serverUrl },
    info.issuer,
  );
  const key = loginKey(context);
  const login = await obtainOnce<StartedLogin>({
    store: context.store,
    lease: loginLease(context),
    watch: key,
    find: () => findStartedLogin(parts),
    obtain: () => prepareLogin(parts, key),
    waitMs: 15_000,
  });
  // The process that prepares the login takes too long: prepare another login.
  return (login === "late" || login === undefined ? await prepareLogin(parts, key) : login).authUrl;
}

/** Checks the authorization server before anything is sent to it. */
async function checkAuthorizationServer(
  metadata: AuthorizationServerMetadata | undefined,
  guard: AddressRuleOptions,
  issuer: string,
): Promise<void> {
  await checkLoginPage(metadata?.authorization_endpoint ?? new URL("/authorize", issuer).href, guard);
  if (metadata === undefined) return;
  if (!metadata.response_types_supported.includes("code")) {
    throw authFailed(
      "The authorization server does not support the response type `code`, which a login needs",
    );
  }
  checkPkce(metadata);
}

async function findStartedLogin(parts: InteractiveParts): Promise<StartedLogin | undefined> {
  const { context, info, redirectUrl, scope } = parts;
  const { clientId } = context.options;
  const login = await findOpenLogin(context);
  const isSame =
    login !== undefined &&
    login.issuer === info.issuer &&
    login.redirectUrl === redirectUrl &&
    login.resource === info.resource &&
    login.scope === scope &&
    (clientId === undefined || clientId === login.clientId);
  return isSame ? login : undefined;
}

/** A login that the user has started and can still finish, in any process. */
export async function findOpenLogin(context: OAuthContext): Promise<StartedLogin | undefined> {
  const { store } = context;
  const login = readStartedLogin(await store.get(loginKey(context)));
  if (login === undefined || nowOf(context) - login.startedAt > REUSE_MS) return undefined;
  // The pending record is deleted when the user returns.
  return (await store.get(pendingKey(login.stateHash))) === undefined ? undefined : login;
}

export function readStartedLogin(found: StoredRecord | undefined): StartedLogin | undefined {
  if (found === undefined || !found.sealed) return undefined;
  const login = found.value as StartedLogin;
  return typeof login?.authUrl === "string" && typeof login.stateHash === "string" ? login : undefined;
}

async function prepareLogin(parts: InteractiveParts, key: string): Promise<StartedLogin> {
  const { context, info, redirectUrl, scope } = parts;
  const { metadata, resource, issuer } = info;
  const client = await resolveClient(parts);
  const sdk = await import("@modelcontextprotocol/client");
  const state = createState();
  const { authorizationUrl, codeVerifier } = await sdk.startAuthorization(issuer, {
    ...(metadata !== undefined && { metadata }),
    clientInformation: { client_id: client.id ?? "" },
    redirectUrl,
    state,
    resource,
    ...(scope !== undefined && { scope }),
  });
  const stateHash = await hashState(state);
  const { server, identity, principal, options } = context;
  const pending: PendingAuthorization = {
    server,
    identity,
    serverUrl: context.serverUrl.href,
    ...(principal !== undefined && { principal }),
    at: toAuthorizationServer(info),
    isDescribed: metadata !== undefined,
    sendsIssuer: metadata?.authorization_response_iss_parameter_supported === true,
    client,
    verifier: codeVerifier,
    redirectUrl,
    resource,
    ...(scope !== undefined && { scope }),
    isBound: options.dpop === true,
    ...(options.allowedHosts !== undefined && { allowedHosts: options.allowedHosts }),
  };
  await context.store.put(pendingKey(stateHash), pending, { secret: true, ttlMs: PENDING_MS });
  const login: StartedLogin = {
    authUrl: authorizationUrl.href,
    stateHash,
    issuer,
    redirectUrl,
    resource,
    ...(scope !== undefined && { scope }),
    ...(client.id !== undefined && { clientId: client.id }),
    startedAt: nowOf(context),
  };
  await context.store.put(key, login, { secret: true, ttlMs: PENDING_MS });
  return login;
}

/** What any process needs to finish a login, saved under the hash of its `state`. */
export interface PendingAuthorization {
  readonly server: string;
  /** Part of the keys of the credentials. */
  readonly identity: string;
  readonly serverUrl: string;
  readonly principal?: string | undefined;
  /** The authorization server at which the user logs in. */
  readonly at: AuthorizationServer;
  /** The server publishes metadata, so the `iss` of the callback can be compared with its issuer. */
  readonly isDescribed: boolean;
  /** The metadata says that every callback contains `iss`. */
  readonly sendsIssuer: boolean;
  readonly client: OAuthClient;
  readonly verifier: string;
  readonly redirectUrl: string;
  readonly resource: string;
  readonly scope?: string | undefined;
  readonly isBound: boolean;
  readonly allowedHosts?: readonly string[] | undefined;
}

/** 256 random bits. */
const createState = (): string => base64Url(crypto.getRandomValues(new Uint8Array(32)));

/** The store contains only the hash, so that reading its keys is not enough to finish another user's login. */
export const hashState = async (state: string): Promise<string> => base64Url(await sha256(state));

/** `take()` deletes the record; it returns true for one caller only. */
export async function findPending(store: Store, state: string) {
  const key = pendingKey(await hashState(state));
  const found = await store.get(key);
  if (found === undefined || !found.sealed) return undefined;
  const pending = found.value as PendingAuthorization;
  if (readAuthorizationServer(pending.at) === undefined || typeof pending.verifier !== "string")
    return undefined;
  return { pending, take: () => store.delete(key, { ifVersion: found.version }) };
}
