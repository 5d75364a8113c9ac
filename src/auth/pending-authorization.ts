/** A login on its way: everything that any process needs to finish it, under the hash of its `state`. */
import type { Store } from "../state/store.js";
import { type AuthorizationServer, readAuthorizationServer } from "./authorization-server.js";
import type { OAuthClient } from "./client-authentication.js";
import { base64Url, sha256 } from "./dpop-session.js";
import { pendingKey } from "./record-keys.js";

export interface PendingAuthorization {
  readonly server: string;
  /** Credentials are kept by it. */
  readonly identity: string;
  readonly serverUrl: string;
  readonly principal?: string | undefined;
  /** The authorization server that the user was sent to. */
  readonly at: AuthorizationServer;
  /** It described itself, so that `iss` of the callback has something to be compared with. */
  readonly isDescribed: boolean;
  /** It says that it always sends `iss`. */
  readonly sendsIssuer: boolean;
  readonly client: OAuthClient;
  readonly verifier: string;
  readonly redirectUrl: string;
  readonly resource: string;
  readonly scope?: string | undefined;
  readonly isBound: boolean;
  readonly allowedHosts?: readonly string[] | undefined;
}

/** So long a user may take. */
export const PENDING_MS = 600_000;

/** 256 random bits. */
export const createState = (): string => base64Url(crypto.getRandomValues(new Uint8Array(32)));

/** What stands in the store, so that who reads its keys cannot end somebody else's login. */
export const hashState = async (state: string): Promise<string> => base64Url(await sha256(state));

export async function savePending(
  store: Store,
  stateHash: string,
  pending: PendingAuthorization,
): Promise<void> {
  await store.put(pendingKey(stateHash), pending, { secret: true, ttlMs: PENDING_MS });
}

export interface FoundPending {
  readonly pending: PendingAuthorization;
  /** Takes it: true for one caller only. */
  take(): Promise<boolean>;
}

export async function findPending(store: Store, state: string): Promise<FoundPending | undefined> {
  const key = pendingKey(await hashState(state));
  const found = await store.get(key);
  if (found === undefined || !found.sealed) return undefined;
  const pending = found.value as PendingAuthorization;
  // Version 0.1 did not say which of several servers with one address the login is for.
  const isWhole = typeof pending.verifier === "string" && typeof pending.identity === "string";
  if (readAuthorizationServer(pending.at) === undefined || !isWhole) return undefined;
  return { pending, take: () => store.delete(key, { ifVersion: found.version }) };
}
