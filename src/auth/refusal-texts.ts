/** Reasons of an authorization server, in words of ours. */
import type { AuthError } from "../errors/auth-error.js";
import { authFailed } from "./auth-failures.js";

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
export function refusedFor(reason: string): AuthError {
  const next = Object.hasOwn(KNOWN, reason) ? KNOWN[reason] : undefined;
  const quoted = next === undefined ? "" : ` (${reason})`;
  return authFailed(
    `The authorization server refused to issue a token${quoted}`,
    next ?? "Ask its operator why",
  );
}

/** It does not accept who we are, which is not the tokens' fault. */
export const isAboutClient = (reason: string): boolean =>
  reason === "invalid_client" || reason === "unauthorized_client";
