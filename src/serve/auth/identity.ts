/** Who sent a request to a gateway, or why the request is rejected. */

/** The user of a request. */
export interface Identity {
  /** Whose port serves the request (`as(principal)`). Undefined: the plain port (a local token, or `auth: false`). */
  readonly principal: string | undefined;
  /** The scopes that were granted to the client. */
  readonly scopes: readonly string[];
  /** When the credential ends, in milliseconds since 1970; open streams end then. Undefined: it does not end. */
  readonly expiresAt?: number | undefined;
}

/** The response to a request without a valid credential. */
export interface Rejection {
  /** 401: no valid credential. 403: not enough scopes, or not a user of this gateway. 503: it could not be checked. */
  readonly status: 401 | 403 | 503;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON. */
  readonly body: string;
}

export const isRejection = (outcome: Identity | Rejection): outcome is Rejection => "status" in outcome;

/** What a verified token says about its user. */
export interface TokenClaims {
  readonly issuer: string;
  readonly subject: string;
  readonly scopes: readonly string[];
  /** All claims, as the issuer wrote them. */
  readonly claims: Readonly<Record<string, unknown>>;
}

/** A user by issuer and subject: two issuers may use the same subject. */
export const defaultPrincipal = ({ issuer, subject }: TokenClaims): string =>
  JSON.stringify([issuer, subject]);
