/** Whether a failure means that somebody has to authorize first. */
import { hasBrand, httpStatusOf, isNamed, readField, walkErrors } from "./foreign-error.js";
import { ToolportError } from "./toolport-error.js";

function demandsAuthorization(error: unknown): boolean {
  if (ToolportError.isInstance(error) && error.code === "AUTH_REQUIRED") return true;
  if (hasBrand(error, "mcp.UnauthorizedError") || isNamed(error, "UnauthorizedError")) return true;
  return httpStatusOf(error) === 401 || readField(readField(error, "response"), "status") === 401;
}

/**
 * Recognises "authorization required" in an error, its causes, and the errors it sums up.
 *
 * @example
 * ```ts
 * if (isUnauthorized(error)) return new Response("Authentication required", { status: 401 });
 * ```
 */
export function isUnauthorized(error: unknown): boolean {
  for (const found of walkErrors(error)) if (demandsAuthorization(found)) return true;
  return false;
}
