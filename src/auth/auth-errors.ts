/**
 * The failures of OAuth in words of ours. Nothing that an authorization server or a callback said is quoted or kept as
 * a cause: an attacker may have written it, and some servers echo what they were sent.
 */

import { AuthError, type AuthErrorCode } from "../errors/auth-error.js";
import { readField } from "../errors/foreign-error.js";
import { toToolportError } from "../errors/to-toolport-error.js";
import { ToolportError } from "../errors/toolport-error.js";

interface Details {
  readonly code?: AuthErrorCode;
  readonly authUrl?: string | undefined;
  readonly status?: number | undefined;
  readonly retryable?: boolean;
  readonly cause?: unknown;
}

/** Whatever fails here, the MCP server has not acted on the request. */
export function authFailed(what: string, next?: string, details: Details = {}): AuthError {
  return new AuthError({ code: "AUTH_FAILED", what, next, outcome: "unsent", ...details });
}

export function authRequired(authUrl: string | undefined, details: Details = {}): AuthError {
  const next =
    authUrl === undefined
      ? "Set `callbackUrl` on the port or `oauth.redirectUrl` on the server for a login, or send a token in `headers`"
      : "Open the URL in `authUrl`, log in, then connect again";
  return authFailed("The server wants authorization", next, {
    code: "AUTH_REQUIRED",
    status: 401,
    authUrl,
    ...details,
  });
}

export function issuerMismatch(what: string, next?: string): AuthError {
  return authFailed(what, next ?? "Do not log in before you know why; the answer may come from an attacker", {
    code: "ISSUER_MISMATCH",
  });
}

/** The authorization server could not be asked, or answered with nonsense: trying again may help. */
export function authUnavailable(what: string, error?: unknown): ToolportError {
  if (error !== undefined && isFinalError(error)) return error;
  // Only errors of ours are kept: they hold nothing of the answer.
  const cause = ToolportError.isInstance(error) ? error : undefined;
  return authFailed(what, "Try again later; if it stays so, ask the server's operator", {
    retryable: cause?.code !== "MESSAGE_TOO_LARGE",
    cause: cause ?? networkCause(error),
  });
}

/** A refused address, a broken store, an error of this room: they say it better than we could. */
function isFinalError(error: unknown): error is ToolportError {
  if (!ToolportError.isInstance(error)) return false;
  return error.code === "ADDRESS_REFUSED" || error.name === "StateError" || error.name === "AuthError";
}

/** System errors name a host and a port, nothing else. */
function networkCause(error: unknown): ToolportError | undefined {
  const code = readField(error, "code") ?? readField(readField(error, "cause"), "code");
  if (typeof code !== "string") return undefined;
  const known = toToolportError(error);
  return known.name === "ConnectionError" ? known : undefined;
}

/** Only these are quoted: everything else may be an attacker's text. */
const KNOWN: Readonly<Record<string, string>> = {
  invalid_client: "Check `oauth.clientId` and its secret or key",
  unauthorized_client: "Ask its operator to allow this client the grant",
  invalid_grant: "Check the assertion: whom it is for, and until when",
  invalid_scope: "Check `oauth.scopes`",
  invalid_target: "Ask its operator to allow this server as a resource",
  unsupported_grant_type: "Choose another `oauth.grant`",
  invalid_dpop_proof: "Check the clock of this machine",
};

/** The authorization server has said no, and will say so again. */
export function tokenRefused(reason: string): AuthError {
  const next = Object.hasOwn(KNOWN, reason) ? KNOWN[reason] : undefined;
  const quoted = next === undefined ? "" : ` (${reason})`;
  return authFailed(
    `The authorization server refused to issue a token${quoted}`,
    next ?? "Ask its operator why",
  );
}

/** It does not accept who we are, which is not the tokens' fault. */
export const isClientError = (reason: string): boolean =>
  reason === "invalid_client" || reason === "unauthorized_client";
