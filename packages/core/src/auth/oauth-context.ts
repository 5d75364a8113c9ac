/** What the OAuth flow of one server and one user needs. */

import { AuthError, type AuthErrorCode, readField, ToolportError, toToolportError } from "@toolport/base";
import { createGuardedFetch, type ObservedExchange } from "@toolport/http/guarded-fetch";
import type { HttpClient } from "@toolport/http/wire-client";
import type { Store } from "@toolport/stores";
import type { OAuthOptions } from "../config/read-oauth.js";

export interface OAuthContext {
  /** Configured name of the server. */
  readonly server: string;
  /** The result of `serverIdentity`; it is part of the keys of the credentials. */
  readonly identity: string;
  /** The configured MCP endpoint: access tokens are sent only to its origin. */
  readonly serverUrl: URL;
  readonly options: OAuthOptions;
  /** The user; undefined for a port without users. */
  readonly principal: string | undefined;
  readonly store: Store;
  readonly http: () => Promise<HttpClient>;
  /** Redirect URL, if the server's own options set none. */
  readonly callbackUrl: string | undefined;
  /** Shown to users during a login with a dynamically registered client. */
  readonly clientName: string;
  warn(message: string): void;
  /** Receives every request to the authorization server. @default none */
  readonly observe?: ((exchange: ObservedExchange) => void) | undefined;
  /** Milliseconds since 1970. @default Date.now */
  readonly now?: (() => number) | undefined;
}

/** The URL to which the authorization server redirects the user after the login. */
export function redirectUrlOf({ options, callbackUrl }: OAuthContext): string | undefined {
  const { redirectUrl } = options;
  return redirectUrl === undefined ? callbackUrl : String(redirectUrl);
}

/** Whether a user has to log in. False if the client has credentials of its own. */
export const isInteractive = ({ options }: OAuthContext): boolean =>
  (options.grant ?? "authorization_code") === "authorization_code";

export const nowOf = ({ now = Date.now }: OAuthContext): number => now();

/** The fetch for all requests to the authorization server. */
export async function guardedFetchOf(context: OAuthContext): Promise<typeof globalThis.fetch> {
  const { serverUrl, options, http, observe } = context;
  return createGuardedFetch(await http(), { serverUrl, allowedHosts: options.allowedHosts, observe });
}

/** A fetch that remembers the status of its last response, for SDK functions whose errors do not contain it. */
export function observeFetch(send: typeof globalThis.fetch) {
  let status: number | undefined;
  const fetch: typeof globalThis.fetch = async (input, init) => {
    status = undefined;
    const response = await send(input, init);
    status = response.status;
    return response;
  };
  /** `status()`: undefined if there was no response. */
  return { fetch, status: () => status };
}

/*
 * Errors of the OAuth flow. They never quote or wrap text from an authorization server or a callback: an attacker may
 * control it, and some servers echo what they received.
 */

interface Details {
  readonly code?: AuthErrorCode;
  readonly authUrl?: string | undefined;
  readonly status?: number | undefined;
  readonly retryable?: boolean;
  readonly cause?: unknown;
}

/** The outcome is always `unsent`: the MCP server has not processed the request. */
export function authFailed(what: string, next?: string, details: Details = {}): AuthError {
  return new AuthError({ code: "AUTH_FAILED", what, next, outcome: "unsent", ...details });
}

export function authRequired(authUrl: string | undefined, details: Details = {}): AuthError {
  const next =
    authUrl === undefined
      ? "Set `callbackUrl` on the port or `oauth.redirectUrl` on the server for a login, or send a token in `headers`"
      : "Open the URL in `authUrl`, log in, then connect again";
  return authFailed("The server requires authorization", next, {
    code: "AUTH_REQUIRED",
    status: 401,
    authUrl,
    ...details,
  });
}

export function issuerMismatch(what: string, next?: string): AuthError {
  const caution = "Do not log in until you know why; the response may come from an attacker";
  return authFailed(what, next ?? caution, { code: "ISSUER_MISMATCH" });
}

/** The authorization server could not be reached or sent an invalid response. A retry may help. */
export function authUnavailable(what: string, error?: unknown): ToolportError {
  if (error !== undefined && isFinalError(error)) return error;
  // Only a ToolportError becomes the cause: other errors may contain text from the response.
  const cause = ToolportError.isInstance(error) ? error : undefined;
  return authFailed(what, "Try again later; if the problem persists, ask the server's operator", {
    retryable: cause?.code !== "MESSAGE_TOO_LARGE",
    cause: cause ?? networkCause(error),
  });
}

/** Errors that already say what to do: a refused address, a failed store, or another AuthError. */
function isFinalError(error: unknown): error is ToolportError {
  if (!ToolportError.isInstance(error)) return false;
  return error.code === "ADDRESS_REFUSED" || error.name === "StateError" || error.name === "AuthError";
}

/** System errors contain a host and a port, and no text from the response. */
function networkCause(error: unknown): ToolportError | undefined {
  const code = readField(error, "code") ?? readField(readField(error, "cause"), "code");
  if (typeof code !== "string") return undefined;
  const known = toToolportError(error);
  return known.name === "ConnectionError" ? known : undefined;
}

/** Advice by OAuth error code. Other codes are not quoted: they may be text from an attacker. */
const KNOWN: Readonly<Record<string, string>> = {
  invalid_client: "Check `oauth.clientId` and its secret or key",
  unauthorized_client: "Ask its operator to allow this client the grant",
  invalid_grant: "Check the audience and the expiry of the assertion",
  invalid_scope: "Check `oauth.scopes`",
  invalid_target: "Ask its operator to allow this server as a resource",
  unsupported_grant_type: "Choose another `oauth.grant`",
  invalid_dpop_proof: "Check the clock of this machine",
};

/** The authorization server rejected a token request for good. */
export function tokenRefused(reason: string): AuthError {
  const next = Object.hasOwn(KNOWN, reason) ? KNOWN[reason] : undefined;
  const quoted = next === undefined ? "" : ` (${reason})`;
  return authFailed(
    `The authorization server refused to issue a token${quoted}`,
    next ?? "Ask its operator why",
  );
}

/** The authorization server rejected the client itself, not its tokens. */
export const isClientError = (reason: string): boolean =>
  reason === "invalid_client" || reason === "unauthorized_client";
