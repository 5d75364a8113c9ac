/** The callback of a login: its parameters, which are never quoted because an attacker may control them, and its pages. */
import { type AuthError, singleParameter } from "@toolport/base";
import { authFailed } from "./oauth-context.js";

/** @throws AuthError if the callback reports an error or has no code */
export function readCode(params: URLSearchParams): string {
  if (params.has("error")) {
    const isDenied = singleParameter(params, "error") === "access_denied";
    throw authFailed(
      isDenied
        ? "The user or the authorization server denied the login"
        : "The authorization server ended the login with an error",
      "Log in again",
    );
  }
  const code = singleParameter(params, "code");
  if (code === undefined) throw authFailed("The login callback has no code", "Log in again");
  return code;
}

export const unknownLogin = (): AuthError =>
  authFailed(
    "This callback belongs to no login in progress: the login was already finished, has expired, or was never started",
    "Start the login again",
  );

/** Forbids scripts, frames and caching. */
const HEADERS = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy":
    "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
};

/** The page at the end of a login. */
export function callbackPage(success: boolean): Response {
  const [title, text] = success
    ? ["You are logged in", "You can close this page and go back to the application."]
    : [
        "The login did not succeed",
        "Go back to the application, which shows the reason, and start the login again.",
      ];
  const page =
    `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${title}</title></head>` +
    `<body><h1>${title}</h1><p>${text}</p></body></html>\n`;
  return new Response(page, { status: success ? 200 : 400, headers: HEADERS });
}
