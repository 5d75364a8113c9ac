/** Sends a request with tokens in its header fields, and with the proof that bound ones need. */
import type { DpopSession } from "@modelcontextprotocol/client";
import type { RequestToAuthorize, SendWithFields } from "../transports/http/credentials/authorized-send.js";
import { authFailed } from "./auth-errors.js";
import type { HeldTokens } from "./token-cache.js";

export interface TokensToSend {
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
  if (!isBound) return send({ authorization: `Bearer ${accessToken}` });
  const session = await dpop();
  if (session === undefined)
    throw authFailed("The saved token is bound to a key", "Set `oauth.dpop`, or log out");
  const { isDpopNonceChallenge } = await import("@modelcontextprotocol/client");
  const { method, url } = request;
  // A proof is good for one request, so each has its own.
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

export interface Challenge {
  readonly kind: "unauthorized" | "insufficient_scope";
  readonly scope: string | undefined;
  readonly resourceMetadataUrl: URL | undefined;
}

/** Undefined if the answer has nothing to do with credentials that could be better. */
export async function readChallenge(response: Response): Promise<Challenge | undefined> {
  const { status } = response;
  if (status !== 401 && status !== 403) return undefined;
  const { extractWWWAuthenticateParams } = await import("@modelcontextprotocol/client");
  const { scope, resourceMetadataUrl, error } = extractWWWAuthenticateParams(response);
  if (status === 401) return { kind: "unauthorized", scope, resourceMetadataUrl };
  if (error !== "insufficient_scope") return undefined;
  return { kind: "insufficient_scope", scope, resourceMetadataUrl };
}

/** Lets go of an answer that nobody will read. */
export function cancelBody(response: Response): void {
  // A body that somebody reads already cannot be cancelled, and need not be.
  if (response.body !== null && !response.body.locked) response.body.cancel().catch(() => {});
}
