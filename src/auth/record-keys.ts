/** Where credentials lie in the store: apart by user and by the address they are for. */
import { identifyUrl } from "../config/config-identity.js";

/** Whose credentials for which server. */
export interface Owner {
  readonly principal: string | undefined;
  readonly serverUrl: URL | string;
}

const drawer = (kind: string, principal = ""): string => `oauth/${kind}/${encodeURIComponent(principal)}/`;
const place = (kind: string, { principal, serverUrl }: Owner): string =>
  `${drawer(kind, principal)}${identifyUrl(String(serverUrl))}`;

export const tokensKey = (owner: Owner): string => place("tokens", owner);
/** How the keys of all tokens of one user begin. */
export const tokensPrefix = (principal: string | undefined): string => drawer("tokens", principal);
/** The login that is waiting for its user. */
export const loginKey = (owner: Owner): string => place("login", owner);
export const proofKeyKey = (owner: Owner): string => place("dpop", owner);
/** Held by whoever asks for new tokens. */
export const refreshLease = (owner: Owner): string => place("refresh", owner);
/** Held by whoever prepares a login. */
export const loginLease = (owner: Owner): string => place("start", owner);

export const pendingKey = (stateHash: string): string => `oauth/pending/${stateHash}`;

/** A dynamic registration is of no use at another issuer, with another redirect URL or for another server. */
export const registrationKey = (issuer: string, redirectUrl: string, serverUrl: URL | string): string =>
  `oauth/client/${encodeURIComponent(issuer)}/${encodeURIComponent(redirectUrl)}/${identifyUrl(String(serverUrl))}`;
/** Held by whoever registers. */
export const registrationLease = (...place: Parameters<typeof registrationKey>): string =>
  registrationKey(...place).replace("oauth/client/", "oauth/register/");

/** The issuer that a client registered by hand was first used at. */
export const bindingKey = (clientId: string, serverUrl: URL | string): string =>
  `oauth/issuer/${encodeURIComponent(clientId)}/${identifyUrl(String(serverUrl))}`;
