/** Where credentials lie in the store: apart by user and by server. */
import { identifyUrl } from "../config/config-identity.js";
import { userPrefix } from "../state/server-keys.js";
import type { Store } from "../state/store.js";
import type { OAuthContext } from "./oauth-context.js";

/** Whose credentials for which server. */
export interface CredentialOwner {
  readonly principal: string | undefined;
  /** What `serverIdentity` says of the server. */
  readonly identity: string;
}

const recordKey = (kind: string, { principal, identity }: CredentialOwner): string =>
  `${userPrefix(`oauth/${kind}`, principal)}${identity}`;

export const tokensKey = (owner: CredentialOwner): string => recordKey("tokens", owner);
/** How the keys of all tokens of one user begin. */
export const tokensPrefix = (principal: string | undefined): string => userPrefix("oauth/tokens", principal);
/** The login that is waiting for its user. */
export const loginKey = (owner: CredentialOwner): string => recordKey("login", owner);
export const proofKeyKey = (owner: CredentialOwner): string => recordKey("dpop", owner);
/** HeldTokens by the process that asks for new tokens. */
export const refreshLease = (owner: CredentialOwner): string => recordKey("refresh", owner);
/** HeldTokens by the process that prepares a login. */
export const loginLease = (owner: CredentialOwner): string => recordKey("start", owner);

/** Where version 0.1 kept the same, for all entries with one address. */
export const legacyKeys = (principal: string | undefined, serverUrl: URL | string) => {
  const identity = identifyUrl(String(serverUrl));
  return { tokens: tokensKey({ principal, identity }), proofKey: proofKeyKey({ principal, identity }) };
};

export const pendingKey = (stateHash: string): string => `oauth/pending/${stateHash}`;

/** A dynamic registration is of no use at another issuer, with another redirect URL or for another server. */
export const registrationKey = (issuer: string, redirectUrl: string, serverUrl: URL | string): string =>
  `oauth/client/${encodeURIComponent(issuer)}/${encodeURIComponent(redirectUrl)}/${identifyUrl(String(serverUrl))}`;
/** HeldTokens by whoever registers. */
export const registrationLease = (...parts: Parameters<typeof registrationKey>): string =>
  registrationKey(...parts).replace("oauth/client/", "oauth/register/");

/** The issuer that a client registered by hand was first used at. */
export const bindingKey = (clientId: string, serverUrl: URL | string): string =>
  `oauth/issuer/${encodeURIComponent(clientId)}/${identifyUrl(String(serverUrl))}`;

/** How the keys of what an application is at authorization servers begin; they end with the address of the server. */
export const clientPrefixes = ["oauth/client/", "oauth/issuer/"];

export async function deleteCredentials(store: Store, owner: CredentialOwner): Promise<void> {
  // A login that is under way must not end with tokens for a server that is gone.
  const login = (await store.get(loginKey(owner)).catch(() => undefined))?.value;
  const { stateHash } = (login ?? {}) as { stateHash?: unknown };
  if (typeof stateHash === "string") await store.delete(pendingKey(stateHash));
  for (const key of [loginKey(owner), tokensKey(owner), proofKeyKey(owner)]) await store.delete(key);
}

/** Deletes what version 0.1 kept of the same by address. */
export async function deleteLegacyCredentials(
  store: Store,
  principal: string | undefined,
  url: string,
): Promise<void> {
  const { tokens, proofKey } = legacyKeys(principal, url);
  await store.delete(tokens);
  await store.delete(proofKey);
}

/** Moves them to the keys of this server; true if there were some. */
export async function migrateLegacyCredentials(context: OAuthContext): Promise<boolean> {
  const { store, principal, serverUrl, ownsAddress } = context;
  if (ownsAddress === undefined || !(await ownsAddress())) return false;
  const old = legacyKeys(principal, serverUrl);
  const tokens = await store.get(old.tokens);
  // Records that are not sealed may have been written by anyone with access to the database.
  if (tokens === undefined || !tokens.sealed) return false;
  // The key comes first: tokens that are bound to it are of no use without it.
  const proofKey = await store.get(old.proofKey);
  if (proofKey?.sealed === true)
    await store.put(proofKeyKey(context), proofKey.value, { ifVersion: 0, secret: true });
  await store.put(tokensKey(context), tokens.value, { ifVersion: 0, secret: true });
  await store.delete(old.tokens, { ifVersion: tokens.version });
  if (proofKey !== undefined) await store.delete(old.proofKey, { ifVersion: proofKey.version });
  return true;
}
