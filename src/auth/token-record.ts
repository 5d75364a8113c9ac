/** Saved tokens, with the addresses they may be sent to. */
import type { OAuthTokens } from "@modelcontextprotocol/client";
import { readLifetimeMs } from "../transports/http/credentials/token-lifetime.js";
import { type AuthorizationServer, readAuthorizationServer } from "./discover-authorization.js";
import { type OAuthClient, toSavedClient } from "./oauth-client.js";

export interface TokenRecord {
  /** The only address to which the access token may be sent. */
  readonly serverUrl: string;
  /** The only server to which the refresh token may be sent. */
  readonly at: AuthorizationServer;
  readonly client: OAuthClient;
  readonly resource: string;
  readonly accessToken: string;
  readonly isBound: boolean;
  readonly refreshToken?: string | undefined;
  /** The granted scopes; the requested ones if the response does not name them. */
  readonly scope?: string | undefined;
  readonly requestedScope?: string | undefined;
  /** Milliseconds since 1970. */
  readonly obtainedAt: number;
  /** Undefined: unknown, so the token is used until a 401. */
  readonly expiresAt?: number | undefined;
}

export interface TokenOrigin {
  readonly serverUrl: URL | string;
  readonly at: AuthorizationServer;
  readonly client: OAuthClient;
  readonly resource: string;
  readonly requestedScope: string | undefined;
  /** Scopes granted so far. */
  readonly grantedScope?: string | undefined;
  /** Kept if the response contains no new one. */
  readonly refreshToken?: string | undefined;
  readonly now: number;
}

export function toTokenRecord(tokens: OAuthTokens, origin: TokenOrigin): TokenRecord {
  const { now, requestedScope } = origin;
  const lifetimeMs = readLifetimeMs(tokens.expires_in);
  const refreshToken = tokens.refresh_token ?? origin.refreshToken;
  const scope = tokens.scope ?? origin.grantedScope ?? requestedScope;
  return {
    serverUrl: String(origin.serverUrl),
    at: origin.at,
    client: toSavedClient(origin.client),
    resource: origin.resource,
    accessToken: tokens.access_token,
    isBound: tokens.token_type.toLowerCase() === "dpop",
    obtainedAt: now,
    ...(refreshToken !== undefined && { refreshToken }),
    ...(scope !== undefined && { scope }),
    ...(requestedScope !== undefined && { requestedScope }),
    ...(lifetimeMs !== undefined && { expiresAt: now + lifetimeMs }),
  };
}

/** Reads a saved record; undefined if it is invalid, or for another server or issuer. */
export function readTokenRecord(
  value: unknown,
  { serverUrl, issuer }: { serverUrl: URL | string; issuer: string | undefined },
): TokenRecord | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const record = value as TokenRecord;
  const at = readAuthorizationServer(record.at);
  if (at === undefined || record.serverUrl !== String(serverUrl)) return undefined;
  if (issuer !== undefined && at.issuer !== issuer) return undefined;
  const isWhole =
    typeof record.accessToken === "string" &&
    typeof record.resource === "string" &&
    typeof record.client?.method === "string";
  return isWhole ? record : undefined;
}

/** Tokens are refreshed this long before they expire. */
const EARLY_MS = 60_000;

/** Whether the token expires soon. A token with a lifetime under two minutes is used for half of it. */
export function isExpiring({ expiresAt, obtainedAt }: TokenRecord, now: number): boolean {
  if (expiresAt === undefined) return false;
  return now >= expiresAt - Math.min(EARLY_MS, (expiresAt - obtainedAt) / 2);
}

export const isExpired = ({ expiresAt }: TokenRecord, now: number): boolean =>
  expiresAt !== undefined && now >= expiresAt;
