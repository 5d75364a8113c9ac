/** Whether a failure means that the server does not speak the transport it was addressed with. */
import { httpStatusOf, walkErrors } from "./foreign-error.js";
import { ToolportError } from "./toolport-error.js";

/** What servers answer to a transport they do not have. */
const NOT_IMPLEMENTED: readonly (number | undefined)[] = [404, 405, 501];

/** A 404 that only says that the server forgot our session is about the session, not the transport. */
const isSessionLost = (error: unknown): boolean =>
  ToolportError.isInstance(error) && error.code === "SESSION_LOST";

/**
 * Recognises "transport not supported" (HTTP 404, 405 or 501) in an error, its causes, and what was tried before it.
 *
 * @example
 * ```ts
 * if (isTransportNotImplemented(error)) return new Response("Transport not supported", { status: 400 });
 * ```
 */
export function isTransportNotImplemented(error: unknown): boolean {
  for (const found of walkErrors(error, isSessionLost)) {
    if (ToolportError.isInstance(found) && found.code === "TRANSPORT_NOT_SUPPORTED") return true;
    if (NOT_IMPLEMENTED.includes(httpStatusOf(found))) return true;
  }
  return false;
}
