/** What a login's callback says. An attacker may have written it, so nothing of it is quoted. */
import type { AuthError } from "../errors/auth-error.js";
import { authFailed } from "./auth-failures.js";

/** A parameter that is there once. An honest callback has none twice. */
export function only(params: URLSearchParams, name: string): string | undefined {
  const values = params.getAll(name);
  return values.length === 1 && values[0] !== "" ? values[0] : undefined;
}

/** @throws AuthError if the callback says that the login failed, or says nothing */
export function readCode(params: URLSearchParams): string {
  if (params.has("error")) {
    const isDenied = only(params, "error") === "access_denied";
    throw authFailed(
      isDenied ? "The login was refused" : "The authorization server ended the login with an error",
      "Log in anew",
    );
  }
  const code = only(params, "code");
  if (code === undefined) throw authFailed("The login came back without a code", "Log in anew");
  return code;
}

export const unknownLogin = (): AuthError =>
  authFailed(
    "This belongs to no login that is waiting here: it was used before, took too long, or was never started",
    "Start the login anew",
  );
