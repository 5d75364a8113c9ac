/** The server wants an authorization that is missing, refused or not to be trusted. */
import { ToolportError, type ToolportErrorInit } from "./toolport-error.js";

export type AuthErrorCode =
  | "AUTH_REQUIRED"
  | "FORBIDDEN"
  | "INSUFFICIENT_SCOPE"
  | "ISSUER_MISMATCH"
  | "AUTH_FAILED";

/** Thrown when a server cannot be used before somebody (or something) authorizes. */
export class AuthError extends ToolportError<AuthErrorCode> {
  static override readonly kind = "AuthError";
  override readonly name = "AuthError";
  /** Where the user can authorize, when that is known. */
  readonly authUrl?: string | undefined;
  /** HTTP status that carried the refusal. */
  readonly status?: number | undefined;

  constructor(
    init: ToolportErrorInit<AuthErrorCode> & { authUrl?: string | undefined; status?: number | undefined },
  ) {
    super(init);
    this.authUrl = init.authUrl;
    this.status = init.status;
  }
}
