/** Sends a request with an access token (and a DPoP proof if the token is bound), and reads the challenge of a 401 or 403. */
import type { DpopSession } from "@modelcontextprotocol/client";
import type { RequestToAuthorize, SendWithFields } from "../transports/http/credentials/authorized-send.js";
import { authFailed } from "./auth-errors.js";
import type { HeldTokens } from "./token-cache.js";

interface TokensToSend {
  readonly held: HeldTokens | undefined;
  readonly request: RequestToAuthorize;
  dpop(): Promise<DpopSession> | undefined;
}

export async function sendWithTokens(
  { held, request, dpop }: TokensToSend,
  send: SendWithFields,
): Promise<Response> {
  if (held === undefined) return send({});
  const { accessToken, isBound } = held.record;
  if (!isBound) return send(bearer(held));
  const session = await dpop();
  if (session === undefined)
    throw authFailed("The saved token is bound to a DPoP key", "Set `oauth.dpop`, or log out");
  const { isDpopNonceChallenge } = await import("@modelcontextprotocol/client");
  const { method, url } = request;
  // A proof is valid for one request only.
  const prove = async () =>
    send({
      authorization: `DPoP ${accessToken}`,
      dpop: await session.buildProof({ htm: method, htu: url, accessToken }),
    });
  let response = await prove();
  if (isDpopNonceChallenge(response) && response.headers.has("dpop-nonce")) {
    session.observeNonce(response, url);
    cancelBody(response);
    response = await prove();
  }
  session.observeNonce(response, url);
  return response;
}

/** The header for tokens that are not bound to a key. */
export const bearer = ({ record }: HeldTokens): { readonly authorization: string } => ({
  authorization: `Bearer ${record.accessToken}`,
});

/** The server may want other credentials. */
export const isChallenge = ({ status }: Response): boolean => status === 401 || status === 403;

/** What a 401 or 403 of the MCP server asks for. */
export interface Challenge {
  readonly kind: "unauthorized" | "insufficient_scope";
  readonly scope: string | undefined;
  readonly resourceMetadataUrl: URL | undefined;
}

/** Undefined if other credentials would not help. */
export async function readChallenge(response: Response): Promise<Challenge | undefined> {
  const { status } = response;
  if (!isChallenge(response)) return undefined;
  const { extractWWWAuthenticateParams } = await import("@modelcontextprotocol/client");
  const { scope, resourceMetadataUrl, error } = extractWWWAuthenticateParams(response);
  if (status === 401) return { kind: "unauthorized", scope, resourceMetadataUrl };
  if (error !== "insufficient_scope") return undefined;
  return { kind: "insufficient_scope", scope, resourceMetadataUrl };
}

/** Cancels a response body that is not read. */
export function cancelBody(response: Response): void {
  // A locked body is being read and cannot be cancelled.
  if (response.body !== null && !response.body.locked) response.body.cancel().catch(() => {});
}
