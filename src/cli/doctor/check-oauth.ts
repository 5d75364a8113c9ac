/** Checks the authorization server of an MCP server, and the saved tokens. */

import { tokensKey } from "../../auth/credential-records.js";
import { type AuthorizationInfo, discoverAuthorization } from "../../auth/discover-authorization.js";
import { readChallenge } from "../../auth/send-with-tokens.js";
import { isExpired, readTokenRecord, type TokenRecord } from "../../auth/token-record.js";
import type { HttpConfig, SseConfig } from "../../config/server-config.js";
import { toToolportError } from "../../errors/to-toolport-error.js";
import { serverIdentity } from "../../state/server-keys.js";
import type { Store } from "../../state/store.js";
import { createHttpClient } from "../../transports/create-transport.js";
import { createGuardedFetch } from "../../transports/http/network/guarded-fetch.js";
import { EXIT } from "../exit-codes.js";
import { shellWord } from "../next-command.js";
import type { Finding } from "./finding.js";

export interface OAuthParts {
  /** The response to a request without a token. */
  readonly answer: Response | undefined;
  /** Undefined if the state cannot be read. */
  readonly store: Store | undefined;
}

export async function checkOAuth(
  config: HttpConfig | SseConfig,
  { answer, store }: OAuthParts,
): Promise<Finding[]> {
  const { name: server, oauth, authProvider } = config;
  const tokens = await tokensOf(config, store);
  const isWanted = answer?.status === 401 || tokens !== undefined || typeof oauth === "object";
  if (oauth === false || authProvider !== undefined || !isWanted) {
    const why = isWanted
      ? "Toolport does not manage the authorization of this server"
      : "The server requires no login";
    return [{ check: "oauth", server, status: "skip", message: why }];
  }
  return [await checkChain(config, answer), ...tokenFindings(server, tokens)];
}

async function checkChain(config: HttpConfig | SseConfig, answer: Response | undefined): Promise<Finding> {
  const { name: server, oauth } = config;
  const options = typeof oauth === "object" ? oauth.reveal() : {};
  const serverUrl = new URL(config.url);
  const client = await createHttpClient({ proxy: config.proxy?.reveal() });
  try {
    const challenge = answer === undefined ? undefined : await readChallenge(answer);
    const info = await discoverAuthorization({
      serverUrl,
      fetch: createGuardedFetch(client, { serverUrl, allowedHosts: options.allowedHosts }),
      resourceMetadataUrl: challenge?.resourceMetadataUrl,
      expectedIssuer: options.issuer,
    });
    return checkMetadata(
      info,
      server,
      options.clientId !== undefined || options.clientMetadataUrl !== undefined,
    );
  } catch (error) {
    const { what, next } = toToolportError(error);
    return {
      ...{ check: "oauth", server, status: "fail", exitCode: EXIT.authorization },
      message: what,
      next: next ?? "Ask the server's operator",
    };
  } finally {
    await client.close();
  }
}

/** Checks that the metadata supports everything a login needs. */
function checkMetadata({ issuer, metadata }: AuthorizationInfo, server: string, hasClient: boolean): Finding {
  const base = { check: "oauth", server };
  // Toolport refuses to log in unless the authorization server lists S256.
  if (metadata !== undefined && metadata.code_challenge_methods_supported?.includes("S256") !== true) {
    return {
      ...{ ...base, status: "fail", exitCode: EXIT.authorization },
      message: `${issuer} does not advertise PKCE with S256, which MCP requires`,
      next: "Ask the server's operator",
    };
  }
  if (metadata !== undefined && metadata.registration_endpoint === undefined && !hasClient) {
    return {
      ...{ ...base, status: "warn" },
      message: `${issuer} does not support dynamic client registration`,
      next: "Register a client there and set oauth.clientId",
    };
  }
  return {
    ...base,
    status: "ok",
    message: `${issuer} is its authorization server, and its metadata is valid`,
  };
}

async function tokensOf(
  config: HttpConfig | SseConfig,
  store: Store | undefined,
): Promise<TokenRecord | undefined> {
  const serverUrl = new URL(config.url);
  const owner = { principal: undefined, identity: serverIdentity(config) };
  const record = await store?.get(tokensKey(owner)).catch(() => undefined);
  return record?.sealed === true
    ? readTokenRecord(record.value, { serverUrl, issuer: undefined })
    : undefined;
}

function tokenFindings(server: string, tokens: TokenRecord | undefined): Finding[] {
  const base = { check: "token", server };
  const login = `toolport auth ${shellWord(server)}`;
  if (tokens === undefined) return [{ ...base, status: "skip", message: "Not logged in", next: login }];
  const { expiresAt, refreshToken } = tokens;
  if (!isExpired(tokens, Date.now())) {
    const end = expiresAt === undefined ? "" : ` until ${new Date(expiresAt).toISOString()}`;
    return [{ ...base, status: "ok", message: `The token is valid${end}` }];
  }
  if (refreshToken !== undefined)
    return [{ ...base, status: "ok", message: "The token has expired; the next call renews it" }];
  return [
    {
      ...{ ...base, status: "fail", exitCode: EXIT.authorization },
      message: "The token has expired, and there is no refresh token",
      next: login,
    },
  ];
}
