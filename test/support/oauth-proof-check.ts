/** Verifies the proof of a DPoP-bound token (RFC 9449): signature, key, method, URL, token. */
import { createHash, createPublicKey, type JsonWebKey, verify } from "node:crypto";

const hash = (text: string) => createHash("sha256").update(text).digest("base64url");
const read = (part: string | undefined) => JSON.parse(Buffer.from(part ?? "", "base64url").toString("utf8"));

export interface BoundToken {
  readonly value: string;
  /** Thumbprint of the bound key. */
  readonly jkt: string;
}

/** True if the proof matches this request and token, and was not used before. */
export function isProof(proof: string, token: BoundToken, request: Request, seen: Set<string>): boolean {
  const [head, body, signature] = proof.split(".");
  const { alg, typ, jwk } = read(head) as { alg: string; typ: string; jwk: JsonWebKey };
  const claims = read(body) as { htm: string; htu: string; ath: string; jti: string; iat: number };
  const thumbprint = hash(JSON.stringify({ crv: jwk.crv, kty: jwk.kty, x: jwk.x, y: jwk.y }));
  const key = { key: createPublicKey({ key: jwk, format: "jwk" }), dsaEncoding: "ieee-p1363" as const };
  const isSigned = verify(
    "sha256",
    Buffer.from(`${head}.${body}`),
    key,
    Buffer.from(signature ?? "", "base64url"),
  );
  const isNew = !seen.has(claims.jti);
  seen.add(claims.jti);
  const { origin, pathname } = new URL(request.url);
  return (
    isSigned &&
    isNew &&
    alg === "ES256" &&
    typ === "dpop+jwt" &&
    jwk.d === undefined &&
    thumbprint === token.jkt &&
    claims.htm === request.method &&
    claims.htu === `${origin}${pathname}` &&
    claims.ath === hash(token.value) &&
    Math.abs(Date.now() / 1_000 - claims.iat) < 60
  );
}
