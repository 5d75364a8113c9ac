/** Checks a signed token (JWT): signature, algorithm, issuer, audience and lifetime. */

import { isRecord } from "@toolport/base";
import type { CryptoKey, JWTPayload, JWTVerifyGetKey, JWTVerifyOptions } from "jose";
import type { TokenClaims } from "./auth-options.js";
import { type KeySource, KeysUnavailable } from "./issuer.js";

export interface JwtRules {
  readonly issuer: string;
  /** The token has to name one of them. */
  readonly audiences: readonly string[];
  readonly algorithms: readonly string[];
  readonly keys: KeySource;
  readonly now: () => number;
}

/** A valid token. */
export interface ValidToken extends TokenClaims {
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
}

/** Why a token is not valid. The message contains nothing from the token. */
export class InvalidToken extends Error {
  override readonly name = "InvalidToken";
}

/** Clocks may differ by this much. Only for the beginning of a lifetime: the end is exact. */
const SKEW_SECONDS = 60;
const MAX_SUBJECT_LENGTH = 1_024;
/** The latest time that a `Date` can have. */
const LAST_TIME = 8.64e15;
/** RFC 9068, and issuers that write no type of their own. Others (`logout+jwt`, `dpop+jwt`) are no access tokens. */
const TYPES = new Set(["jwt", "at+jwt", "application/jwt", "application/at+jwt"]);
/** Keys to try for a token that names none. */
const MAX_KEYS = 8;

/** @throws InvalidToken, or KeysUnavailable if its key cannot be read now */
export async function verifyJwt(token: string, rules: JwtRules): Promise<ValidToken> {
  const { decodeJwt, decodeProtectedHeader } = await import("jose");
  try {
    const { typ } = decodeProtectedHeader(token);
    // Checked before the signature: tokens of other issuers cause no request to the key server.
    if (decodeJwt(token).iss !== rules.issuer) throw new InvalidToken(REASONS.iss);
    if (typ !== undefined && !TYPES.has(String(typ).toLowerCase()))
      throw new InvalidToken("The token is of another type than an access token");
    return toValidToken(await verifySignature(token, rules), rules);
  } catch (error) {
    if (error instanceof KeysUnavailable || error instanceof InvalidToken) throw error;
    throw new InvalidToken(reasonOf(error));
  }
}

async function verifySignature(token: string, rules: JwtRules): Promise<JWTPayload> {
  const { jwtVerify } = await import("jose");
  const options: JWTVerifyOptions = {
    issuer: rules.issuer,
    audience: [...rules.audiences],
    algorithms: [...rules.algorithms],
    requiredClaims: ["exp", "sub"],
    clockTolerance: SKEW_SECONDS,
    currentDate: new Date(rules.now()),
  };
  try {
    return (await jwtVerify(token, rules.keys as JWTVerifyGetKey, options)).payload;
  } catch (error) {
    if (codeOf(error) !== "ERR_JWKS_MULTIPLE_MATCHING_KEYS") throw error;
    // The token names no key, and several fit.
    let tried = 0;
    for await (const key of error as AsyncIterable<CryptoKey>) {
      if (++tried > MAX_KEYS) break;
      try {
        return (await jwtVerify(token, key, options)).payload;
      } catch (failure) {
        if (codeOf(failure) !== BAD_SIGNATURE) throw failure;
      }
    }
    throw new InvalidToken(SIGNATURE_REASON);
  }
}

function toValidToken(payload: JWTPayload, { issuer, now }: JwtRules): ValidToken {
  const { sub, exp = 0 } = payload;
  if (typeof sub !== "string" || sub === "" || sub.length > MAX_SUBJECT_LENGTH)
    throw new InvalidToken(REASONS.sub);
  const expiresAt = Math.min(exp * 1_000, LAST_TIME);
  if (!(expiresAt > now())) throw new InvalidToken(REASONS.exp);
  // Without its proof of possession, a bound token may be a stolen one (RFC 9449, 7.1; RFC 8705, 3).
  if (payload["cnf"] !== undefined)
    throw new InvalidToken("The token is bound to a key; this server accepts bearer tokens only");
  return { issuer, subject: sub, scopes: scopesOf(payload), claims: payload, expiresAt };
}

/** `scope` is a text (RFC 9068); some issuers write `scp`, as a text or as a list. */
function scopesOf(payload: JWTPayload): readonly string[] {
  const value = payload["scope"] ?? payload["scp"];
  if (Array.isArray(value)) return value.filter((scope) => typeof scope === "string");
  return typeof value === "string" ? value.split(" ").filter((scope) => scope !== "") : [];
}

const BAD_SIGNATURE = "ERR_JWS_SIGNATURE_VERIFICATION_FAILED";
const SIGNATURE_REASON = "The signature of the token is not valid";

const REASONS = {
  iss: "The token is of another issuer",
  aud: "The token was issued for another server (audience)",
  exp: "The token has expired",
  nbf: "The token is not valid yet",
  sub: "The token names no user (sub)",
} as const;

const codeOf = (error: unknown): unknown => (isRecord(error) ? error["code"] : undefined);

function reasonOf(error: unknown): string {
  const code = codeOf(error);
  const claim = isRecord(error) ? error["claim"] : undefined;
  if (code === "ERR_JWT_EXPIRED") return REASONS.exp;
  if (code === "ERR_JWT_CLAIM_VALIDATION_FAILED") {
    if (claim === "exp") return "The token has no valid expiry (exp)";
    return REASONS[claim as keyof typeof REASONS] ?? "A claim of the token is not valid";
  }
  if (code === "ERR_JOSE_ALG_NOT_ALLOWED") return "The algorithm of the token is not allowed";
  if (code === BAD_SIGNATURE) return SIGNATURE_REASON;
  if (code === "ERR_JWKS_NO_MATCHING_KEY") return "The issuer has no such key";
  return "The token is not a valid signed JWT";
}
