/** The responses to requests without a valid credential (RFC 6750), and the metadata document (RFC 9728). */
import type { GatewayAddresses } from "./gateway-addresses.js";
import type { Rejection } from "./identity.js";

export interface ChallengeParts {
  /** Undefined: the gateway has no `url`, so challenges name no metadata. */
  readonly addresses: GatewayAddresses | undefined;
  /** The scopes that every token needs. */
  readonly scopes: readonly string[];
}

export interface Challenges {
  /** The request has no bearer token. */
  readonly missing: Rejection;
  /** The token is not valid. @param why a sentence without anything from the request */
  invalid(why: string): Rejection;
  /** The token lacks one of the required scopes. */
  readonly insufficientScope: Rejection;
  /** The user may not use this gateway. */
  readonly forbidden: Rejection;
  /** The token could not be checked. */
  unavailable(retryAfterMs: number): Rejection;
}

export function createChallenges({ addresses, scopes }: ChallengeParts): Challenges {
  const scope = scopes.join(" ");
  const challenge = (error?: string, why?: string): string => {
    const fields = [
      ...(error === undefined ? [] : [`error="${error}"`]),
      ...(why === undefined ? [] : [`error_description="${why}"`]),
      ...(scope === "" ? [] : [`scope="${scope}"`]),
      ...(addresses === undefined ? [] : [`resource_metadata="${addresses.metadataUrl}"`]),
    ];
    return `Bearer ${fields.length === 0 ? 'realm="toolport"' : fields.join(", ")}`;
  };
  const refuse = (status: 401 | 403, error: string, why: string, challengeError?: string): Rejection =>
    reject(status, error, why, {
      "www-authenticate": challenge(challengeError, challengeError === undefined ? undefined : why),
    });
  return {
    // RFC 6750, 3.1: no error code if the request has no credentials at all.
    missing: refuse(401, "unauthorized", "Send an access token as Authorization: Bearer"),
    invalid: (why) => refuse(401, "invalid_token", why, "invalid_token"),
    insufficientScope: refuse(
      403,
      "insufficient_scope",
      "The token lacks a scope that this server needs",
      "insufficient_scope",
    ),
    forbidden: reject(403, "access_denied", "This user may not use this server", {}),
    unavailable: (retryAfterMs) =>
      reject(503, "temporarily_unavailable", "The access token cannot be checked now; try again", {
        "retry-after": String(Math.max(1, Math.ceil(retryAfterMs / 1_000))),
      }),
  };
}

function reject(
  status: Rejection["status"],
  error: string,
  why: string,
  headers: Record<string, string>,
): Rejection {
  return {
    status,
    headers: { "content-type": "application/json", "cache-control": "no-store", ...headers },
    body: JSON.stringify({ error, error_description: why }),
  };
}

/** The metadata document of RFC 9728, as JSON. */
export function protectedResourceMetadata(
  { resource }: GatewayAddresses,
  { issuer, scopes }: { readonly issuer: string | undefined; readonly scopes: readonly string[] },
): string {
  return JSON.stringify({
    resource,
    ...(issuer !== undefined && { authorization_servers: [issuer] }),
    ...(scopes.length > 0 && { scopes_supported: scopes }),
    bearer_methods_supported: ["header"],
    resource_name: "Toolport",
  });
}
