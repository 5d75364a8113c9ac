/** Prepares a user's login: afterwards there is a URL to open, and a record with which any process can finish it. */
import type { AuthorizationServerMetadata } from "@modelcontextprotocol/client";
import type { StoredRecord } from "../state/store.js";
import { checkLoginPage, checkPkce } from "../transports/http/credentials/login-page.js";
import type { AddressRuleOptions } from "../transports/http/network/address-rule.js";
import { authFailed } from "./auth-failures.js";
import { toAuthorizationServer } from "./authorization-server.js";
import { type InteractiveParts, resolveClient } from "./client-identity.js";
import { nowOf } from "./oauth-context.js";
import { obtainOnce } from "./obtain-once.js";
import {
  createState,
  hashState,
  PENDING_MS,
  type PendingAuthorization,
  savePending,
} from "./pending-authorization.js";
import { loginKey, loginLease, pendingKey } from "./record-keys.js";

/** The login that waits for its user. */
export interface WaitingLogin {
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

/** A URL that is handed out must leave the user some time. */
const REUSE_MS = PENDING_MS * 0.8;

/** The URL of the login page. One that waits already is used again, by whichever process. */
export async function startAuthorization(parts: InteractiveParts): Promise<string> {
  const { context, info } = parts;
  await checkAuthorizationServer(
    info.metadata,
    { ...context.options, serverUrl: context.serverUrl },
    info.issuer,
  );
  const key = loginKey(context);
  const login = await obtainOnce<WaitingLogin>({
    store: context.store,
    lease: loginLease(context),
    watch: key,
    find: () => findWaiting(parts, key),
    obtain: () => prepare(parts, key),
    waitMs: 15_000,
  });
  // Whoever holds it up is of no concern to the user, who gets a URL of their own then.
  return (login === "late" || login === undefined ? await prepare(parts, key) : login).authUrl;
}

/** Everything that could be wrong with it, before anything of ours goes there. */
async function checkAuthorizationServer(
  metadata: AuthorizationServerMetadata | undefined,
  guard: AddressRuleOptions,
  issuer: string,
): Promise<void> {
  await checkLoginPage(metadata?.authorization_endpoint ?? new URL("/authorize", issuer).href, guard);
  if (metadata === undefined) return;
  if (!metadata.response_types_supported.includes("code")) {
    throw authFailed(
      "The authorization server has no logins of the kind that is needed here (response type `code`)",
    );
  }
  checkPkce(metadata);
}

async function findWaiting(parts: InteractiveParts, key: string): Promise<WaitingLogin | undefined> {
  const { context, info, redirectUrl, scope } = parts;
  const login = readWaiting(await context.store.get(key));
  if (login === undefined || nowOf(context) - login.startedAt > REUSE_MS) return undefined;
  const { clientId } = context.options;
  const isSame =
    login.issuer === info.issuer &&
    login.redirectUrl === redirectUrl &&
    login.resource === info.resource &&
    login.scope === scope &&
    (clientId === undefined || clientId === login.clientId);
  // It is gone once a user has come back with it.
  const isOpen = isSame && (await context.store.get(pendingKey(login.stateHash))) !== undefined;
  return isOpen ? login : undefined;
}

export function readWaiting(found: StoredRecord | undefined): WaitingLogin | undefined {
  if (found === undefined || !found.sealed) return undefined;
  const login = found.value as WaitingLogin;
  return typeof login?.authUrl === "string" && typeof login.stateHash === "string" ? login : undefined;
}

async function prepare(parts: InteractiveParts, key: string): Promise<WaitingLogin> {
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
  await savePending(context.store, stateHash, pending);
  const login: WaitingLogin = {
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
