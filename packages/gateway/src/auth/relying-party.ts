/** The login of a user at the issuer, with the gateway as a client: code flow with PKCE, `state` and `nonce`. */

import { hash } from "node:crypto";
import { isRecord, singleParameter } from "@toolport/base";
import { checkLoginPage, readCode } from "@toolport/core/internal";
import type { AuthSettings, ConnectClient } from "./auth-options.js";
import type { Issuer, IssuerMetadata } from "./issuer.js";
import { verifyJwt } from "./verify-jwt.js";

/** What the browser keeps, sealed, until it returns. */
export interface LoginSecrets {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
}

export type RelyingParty = ReturnType<typeof createRelyingParty>;

interface RelyingPartyParts {
  readonly issuer: Issuer;
  readonly client: ConnectClient;
  readonly redirectUri: string;
  readonly settings: Pick<AuthSettings, "algorithms" | "principal">;
  readonly now: () => number;
}

export function createRelyingParty({ issuer, client, redirectUri, settings, now }: RelyingPartyParts) {
  const { clientId } = client;

  /** Exchanges the code for an ID token. */
  async function exchange(code: string, verifier: string, metadata: IssuerMetadata): Promise<string> {
    const { token_endpoint: endpoint } = metadata;
    if (endpoint === undefined) throw new Error("the metadata of the issuer names no `token_endpoint`");
    const body = new URLSearchParams({
      grant_type: "authorization_code",
      code,
      redirect_uri: redirectUri,
      code_verifier: verifier,
    });
    const type = "application/x-www-form-urlencoded";
    const headers = { "content-type": type, ...authorize(body, client, metadata) };
    const sent = { method: "POST", headers, body: body.toString() };
    const { status, body: answer } = await issuer.fetchJson(new URL(endpoint), sent);
    const { id_token: idToken, error } = isRecord(answer) ? answer : {};
    if (status === 200 && typeof idToken === "string") return idToken;
    // An error code of OAuth is a short word; other text of the issuer is not repeated.
    const reason = typeof error === "string" && /^[a-z_]{1,40}$/.test(error) ? error : `HTTP ${status}`;
    throw new Error(`the issuer rejected the code of the login (${reason})`);
  }

  return {
    /** The address of the login page. @throws Error if the issuer cannot be reached */
    async start(): Promise<{ readonly url: string; readonly secrets: LoginSecrets }> {
      const { authorization_endpoint: endpoint = "" } = await issuer.metadata();
      // The operator trusts the issuer, so its login page may be at a private address.
      const url = await checkLoginPage(endpoint, { serverUrl: endpoint });
      const secrets = { state: random(), nonce: random(), verifier: random() };
      const query = {
        response_type: "code",
        client_id: clientId,
        redirect_uri: redirectUri,
        scope: [...new Set(["openid", ...(client.scopes ?? [])])].join(" "),
        state: secrets.state,
        nonce: secrets.nonce,
        code_challenge: hashOf(secrets.verifier),
        code_challenge_method: "S256",
      };
      for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
      return { url: url.href, secrets };
    },
    /** The user who logged in; undefined if `principal` rejects the user. @throws Error without anything from the callback */
    async finish(params: URLSearchParams, { nonce, verifier }: LoginSecrets): Promise<string | undefined> {
      const metadata = await issuer.metadata();
      checkIssuer(params, issuer.name, metadata);
      const idToken = await exchange(readCode(params), verifier, metadata);
      const { algorithms, principal } = settings;
      const rules = { issuer: issuer.name, keys: issuer.keys, audiences: [clientId], algorithms, now };
      const token = await verifyJwt(idToken, rules);
      const { nonce: said, aud, azp } = token.claims;
      if (said !== nonce) throw new Error("the ID token belongs to another login (nonce)");
      const isShared = Array.isArray(aud) && aud.length > 1;
      if ((isShared || azp !== undefined) && azp !== clientId)
        throw new Error("the ID token was issued to another client (azp)");
      return principal(token);
    },
  };
}

/** 256 random bits. */
const random = (): string => Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("base64url");

/** RFC 9207: the answer of another authorization server is not accepted. */
function checkIssuer(params: URLSearchParams, issuer: string, metadata: IssuerMetadata): void {
  const isExpected = metadata.authorization_response_iss_parameter_supported === true;
  if (!params.has("iss") && !isExpected) return;
  if (singleParameter(params, "iss") !== issuer)
    throw new Error("the answer came from another authorization server than the issuer");
}

/** Adds the credentials of the client to the body, or returns them as headers. */
function authorize(
  body: URLSearchParams,
  { clientId, clientSecret }: ConnectClient,
  { token_endpoint_auth_methods_supported: methods = ["client_secret_basic"] }: IssuerMetadata,
): Record<string, string> {
  const isBasic = methods.includes("client_secret_basic") || !methods.includes("client_secret_post");
  if (clientSecret !== undefined && isBasic) {
    // RFC 6749, 2.3.1: both are encoded as form values first.
    const pair = [clientId, clientSecret].map((text) => new URLSearchParams({ a: text }).toString().slice(2));
    return { authorization: `Basic ${Buffer.from(pair.join(":")).toString("base64")}` };
  }
  body.set("client_id", clientId);
  if (clientSecret !== undefined) body.set("client_secret", clientSecret);
  return {};
}

/** Logins of several servers may run in one browser at once, so each `state` has a cookie of its own. */
export function cookieNameOf(kind: "login" | "upstream", state: string): string {
  return `__Host-toolport-${kind}-${hashOf(state).slice(0, 16)}`;
}

export const hashOf = (text: string): string => hash("sha256", text, "base64url");

/** `__Host-` makes browsers insist on Secure, on Path=/ and on this host alone, so that no other host can set it. */
const ATTRIBUTES = "Path=/; Secure; HttpOnly; SameSite=Lax";

export const setCookie = (name: string, value: string, maxAgeMs: number): string =>
  `${name}=${value}; Max-Age=${Math.floor(maxAgeMs / 1_000)}; ${ATTRIBUTES}`;

export const deleteCookie = (name: string): string => `${name}=; Max-Age=0; ${ATTRIBUTES}`;

/** The value of a cookie that is present exactly once. */
export function readCookie(request: Request, name: string): string | undefined {
  const values = (request.headers.get("cookie") ?? "")
    .split(";")
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`))
    .map((pair) => pair.slice(name.length + 1));
  return values.length === 1 ? values[0] : undefined;
}
