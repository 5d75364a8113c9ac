/** Tokens as they are saved: with everything that says where they may go. */
import type { OAuthTokens } from "@modelcontextprotocol/client";
import { readLifetimeMs } from "../transports/http/credentials/token-lifetime.js";
import { type AuthorizationServer, readAuthorizationServer } from "./discover-authorization.js";
import { type OAuthClient, toSavedClient } from "./oauth-client.js";

export interface TokenRecord {
  /** The only address the access token may be sent to. */
  readonly serverUrl: string;
  /** The only place the refresh token may be sent to. */
  readonly at: AuthorizationServer;
  readonly client: OAuthClient;
  readonly resource: string;
  readonly accessToken: string;
  readonly isBound: boolean;
  readonly refreshToken?: string | undefined;
  /** What was granted; what was asked for, where the answer does not say. */
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
  /** What was granted so far. */
  readonly grantedScope?: string | undefined;
  /** Kept where the answer brings no other. */
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

/** Reads a saved one back; undefined if it is none, or not for this server and issuer. */
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
  if (!isWhole) return undefined;
  // Versions up to 0.1 saved an `expires_in` of 0, -1 or null as an end that was over at once.
  const { expiresAt, ...unlimited } = record;
  return typeof expiresAt === "number" && expiresAt > record.obtainedAt ? record : unlimited;
}

/** Refreshed so long before its end. */
const EARLY_MS = 60_000;

/** Its end is near enough to get another. A token that lives for less than two minutes is used for half its life. */
export function isExpiring({ expiresAt, obtainedAt }: TokenRecord, now: number): boolean {
  if (expiresAt === undefined) return false;
  return now >= expiresAt - Math.min(EARLY_MS, (expiresAt - obtainedAt) / 2);
}

export const isExpired = ({ expiresAt }: TokenRecord, now: number): boolean =>
  expiresAt !== undefined && now >= expiresAt;
