/** What a login's callback says. An attacker may have written it, so nothing of it is quoted. */
import type { AuthError } from "../errors/auth-error.js";
import { authFailed } from "./auth-errors.js";

/** A parameter that is there once. An honest callback has none twice. */
export function singleParameter(params: URLSearchParams, name: string): string | undefined {
  const values = params.getAll(name);
  return values.length === 1 && values[0] !== "" ? values[0] : undefined;
}

/** @throws AuthError if the callback says that the login failed, or says nothing */
export function readCode(params: URLSearchParams): string {
  if (params.has("error")) {
    const isDenied = singleParameter(params, "error") === "access_denied";
    throw authFailed(
      isDenied ? "The login was refused" : "The authorization server ended the login with an error",
      "Log in anew",
    );
  }
  const code = singleParameter(params, "code");
  if (code === undefined) throw authFailed("The login came back without a code", "Log in anew");
  return code;
}

export const unknownLogin = (): AuthError =>
  authFailed(
    "This belongs to no login that is waiting here: it was used before, took too long, or was never started",
    "Start the login anew",
  );

const HEADERS = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy":
    "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
};

const page = (title: string, text: string): string =>
  `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${title}</title></head>` +
  `<body><h1>${title}</h1><p>${text}</p></body></html>\n`;

export const successPage = (): Response =>
  new Response(page("You are logged in", "You can close this page and go back to the application."), {
    status: 200,
    headers: HEADERS,
  });

export const failurePage = (): Response =>
  new Response(
    page("The login did not succeed", "Go back to the application, which knows more, and start it anew."),
    { status: 400, headers: HEADERS },
  );
