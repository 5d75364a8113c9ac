/** Where credentials lie in the store: apart by user and by server. */
import { identifyUrl } from "../config/config-identity.js";
import { userPrefix } from "../state/server-keys.js";

/** Whose credentials for which server. */
export interface Owner {
  readonly principal: string | undefined;
  /** What `serverIdentity` says of the server. */
  readonly identity: string;
}

const place = (kind: string, { principal, identity }: Owner): string =>
  `${userPrefix(`oauth/${kind}`, principal)}${identity}`;

export const tokensKey = (owner: Owner): string => place("tokens", owner);
/** How the keys of all tokens of one user begin. */
export const tokensPrefix = (principal: string | undefined): string => userPrefix("oauth/tokens", principal);
/** The login that is waiting for its user. */
export const loginKey = (owner: Owner): string => place("login", owner);
export const proofKeyKey = (owner: Owner): string => place("dpop", owner);
/** Held by the process that asks for new tokens. */
export const refreshLease = (owner: Owner): string => place("refresh", owner);
/** Held by the process that prepares a login. */
export const loginLease = (owner: Owner): string => place("start", owner);

/** Where version 0.1 kept the same, for all entries with one address. */
export const keysByAddress = (principal: string | undefined, serverUrl: URL | string) => {
  const identity = identifyUrl(String(serverUrl));
  return { tokens: tokensKey({ principal, identity }), proofKey: proofKeyKey({ principal, identity }) };
};

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

/** How the keys of what an application is at authorization servers begin; they end with the address of the server. */
export const clientPrefixes = ["oauth/client/", "oauth/issuer/"];
