/** The records of OAuth credentials in the store: their keys, their deletion, and the migration from version 0.1. */
import { identifyUrl } from "../config/config-identity.js";
import { userPrefix } from "../state/server-keys.js";
import type { Store } from "../state/store.js";
import type { OAuthContext } from "./oauth-context.js";

/** A server and the user whose credentials for it are stored. */
export interface CredentialOwner {
  readonly principal: string | undefined;
  /** The result of `serverIdentity`. */
  readonly identity: string;
}

const recordKey = (kind: string, { principal, identity }: CredentialOwner): string =>
  `${userPrefix(`oauth/${kind}`, principal)}${identity}`;

export const tokensKey = (owner: CredentialOwner): string => recordKey("tokens", owner);
/** Prefix of the keys of all tokens of one user. */
export const tokensPrefix = (principal: string | undefined): string => userPrefix("oauth/tokens", principal);
/** Key of the login that the user has not finished yet. */
export const loginKey = (owner: CredentialOwner): string => recordKey("login", owner);
export const proofKeyKey = (owner: CredentialOwner): string => recordKey("dpop", owner);
/** Lease of the process that requests new tokens. */
export const refreshLease = (owner: CredentialOwner): string => recordKey("refresh", owner);
/** Lease of the process that prepares a login. */
export const loginLease = (owner: CredentialOwner): string => recordKey("start", owner);

/** Version 0.1 stored these records by URL, shared by all servers with the same URL. */
export const legacyKeys = (principal: string | undefined, serverUrl: URL | string) => {
  const identity = identifyUrl(String(serverUrl));
  return { tokens: tokensKey({ principal, identity }), proofKey: proofKeyKey({ principal, identity }) };
};

export const pendingKey = (stateHash: string): string => `oauth/pending/${stateHash}`;

/** A dynamic registration is valid for one issuer, one redirect URL and one server. */
export const registrationKey = (issuer: string, redirectUrl: string, serverUrl: URL | string): string =>
  `oauth/client/${encodeURIComponent(issuer)}/${encodeURIComponent(redirectUrl)}/${identifyUrl(String(serverUrl))}`;
/** Lease of the process that registers the client. */
export const registrationLease = (...parts: Parameters<typeof registrationKey>): string =>
  registrationKey(...parts).replace("oauth/client/", "oauth/register/");

/** Key of the issuer at which a preconfigured client was first used. */
export const bindingKey = (clientId: string, serverUrl: URL | string): string =>
  `oauth/issuer/${encodeURIComponent(clientId)}/${identifyUrl(String(serverUrl))}`;

/** Key prefixes of client registrations; the keys end with the identity of the server's URL. */
export const clientPrefixes = ["oauth/client/", "oauth/issuer/"];

/** Deletes the credentials of a removed server. Does not revoke them: `logOut()` does. */
export async function deleteCredentials(store: Store, owner: CredentialOwner): Promise<void> {
  // A login in progress must not save tokens for a removed server.
  const login = (await store.get(loginKey(owner)).catch(() => undefined))?.value;
  const { stateHash } = (login ?? {}) as { stateHash?: unknown };
  if (typeof stateHash === "string") await store.delete(pendingKey(stateHash));
  for (const key of [loginKey(owner), tokensKey(owner), proofKeyKey(owner)]) await store.delete(key);
}

/** Deletes the records that version 0.1 stored by URL. */
export async function deleteLegacyCredentials(
  store: Store,
  principal: string | undefined,
  url: string,
): Promise<void> {
  const { tokens, proofKey } = legacyKeys(principal, url);
  await store.delete(tokens);
  await store.delete(proofKey);
}

/** Moves the records of version 0.1 to the keys of this server, if they belong to it; true if there were any. */
export async function migrateLegacyCredentials(context: OAuthContext): Promise<boolean> {
  const { store, principal, serverUrl, ownsAddress } = context;
  if (ownsAddress === undefined || !(await ownsAddress())) return false;
  const old = legacyKeys(principal, serverUrl);
  const tokens = await store.get(old.tokens);
  // Unsealed records may have been written by anyone with access to the database.
  if (tokens === undefined || !tokens.sealed) return false;
  // The proof key first: tokens that are bound to it are useless without it.
  const proofKey = await store.get(old.proofKey);
  if (proofKey?.sealed === true)
    await store.put(proofKeyKey(context), proofKey.value, { ifVersion: 0, secret: true });
  await store.put(tokensKey(context), tokens.value, { ifVersion: 0, secret: true });
  await store.delete(old.tokens, { ifVersion: tokens.version });
  if (proofKey !== undefined) await store.delete(old.proofKey, { ifVersion: proofKey.version });
  return true;
}
