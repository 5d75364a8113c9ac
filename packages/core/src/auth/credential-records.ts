/** The records of OAuth credentials in the store: their keys and their deletion. */

import { type Store, userPrefix } from "@toolport/stores";
import { identifyUrl } from "../config/server-config.js";

/** A server and the user whose credentials for it are stored. */
interface CredentialOwner {
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
