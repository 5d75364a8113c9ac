/** What is known about the login of a server, for a diagnosis: its saved tokens, and its authorization server. Changes nothing. */

import { type ToolportError, toToolportError } from "@toolport/base";
import { createGuardedFetch } from "@toolport/http/guarded-fetch";
import type { Store } from "@toolport/stores";
import type { HttpConfig, SseConfig } from "../config/server-config.js";
import { serverIdentity } from "../config/server-keys.js";
import { createHttpClient } from "../transports/create-transport.js";
import { tokensKey } from "./credential-records.js";
import { discoverAuthorization } from "./discover-authorization.js";
import { readChallenge } from "./server-oauth.js";
import { isExpired, readTokenRecord } from "./token-records.js";

interface InspectLoginParts {
  /** The response to a request without a token. */
  readonly answer: Response;
  /** Undefined: the saved tokens are unknown. */
  readonly store: Store | undefined;
}

export interface LoginFacts {
  /** `"unmanaged"`: a login is needed, and Toolport does not do it. */
  readonly kind: "none" | "unmanaged" | "oauth";
  readonly tokens?: {
    readonly expiresAt?: number;
    readonly isExpired: boolean;
    readonly isRenewable: boolean;
  };
  /** What the authorization server supports, or why that is unknown. Only for `"oauth"`. */
  readonly authorization?: AuthorizationFacts | ToolportError;
}

export interface AuthorizationFacts {
  readonly issuer: string;
  /** False: the metadata does not list PKCE with S256, without which Toolport does not log in. */
  readonly hasPkce: boolean;
  /** The server can register clients, or a client is configured. */
  readonly hasClient: boolean;
}

export async function inspectLogin(
  config: HttpConfig | SseConfig,
  { answer, store }: InspectLoginParts,
): Promise<LoginFacts> {
  const { oauth, authProvider } = config;
  const key = tokensKey({ principal: undefined, identity: serverIdentity(config) });
  const saved = await store?.get(key).catch(() => undefined);
  const origin = { serverUrl: new URL(config.url), issuer: undefined };
  const record = saved?.sealed === true ? readTokenRecord(saved.value, origin) : undefined;
  const isNeeded = answer.status === 401 || record !== undefined || typeof oauth === "object";
  if (!isNeeded) return { kind: "none" };
  if (oauth === false || authProvider !== undefined) return { kind: "unmanaged" };
  const authorization = await inspectAuthorization(config, answer).catch(toToolportError);
  if (record === undefined) return { kind: "oauth", authorization };
  const { expiresAt, refreshToken } = record;
  const tokens = {
    isExpired: isExpired(record, Date.now()),
    isRenewable: refreshToken !== undefined,
    ...(expiresAt !== undefined && { expiresAt }),
  };
  return { kind: "oauth", authorization, tokens };
}

async function inspectAuthorization(
  config: HttpConfig | SseConfig,
  answer: Response,
): Promise<AuthorizationFacts> {
  const options = typeof config.oauth === "object" ? config.oauth.reveal() : {};
  const serverUrl = new URL(config.url);
  const client = await createHttpClient({ proxy: config.proxy?.reveal() });
  try {
    const { issuer, metadata } = await discoverAuthorization({
      serverUrl,
      fetch: createGuardedFetch(client, { serverUrl, allowedHosts: options.allowedHosts }),
      resourceMetadataUrl: (await readChallenge(answer))?.resourceMetadataUrl,
      expectedIssuer: options.issuer,
    });
    const isConfigured = options.clientId !== undefined || options.clientMetadataUrl !== undefined;
    return {
      issuer,
      hasPkce: metadata === undefined || metadata.code_challenge_methods_supported?.includes("S256") === true,
      hasClient: isConfigured || metadata === undefined || metadata.registration_endpoint !== undefined,
    };
  } finally {
    await client.close();
  }
}
