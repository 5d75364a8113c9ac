/** Authorization that is missing, was denied or cannot be trusted. */
import { ToolportError, type ToolportErrorInit } from "./toolport-error.js";

export type AuthErrorCode =
  | "AUTH_REQUIRED"
  | "FORBIDDEN"
  | "INSUFFICIENT_SCOPE"
  | "ISSUER_MISMATCH"
  | "AUTH_FAILED";

/** Thrown when a server cannot be used without a valid authorization. */
export class AuthError extends ToolportError<AuthErrorCode> {
  static override readonly kind = "AuthError";
  override readonly name = "AuthError";
  /** Where the user can authorize, if known. */
  readonly authUrl?: string | undefined;
  /** HTTP status of the response that denied access. */
  readonly status?: number | undefined;

  constructor(
    init: ToolportErrorInit<AuthErrorCode> & { authUrl?: string | undefined; status?: number | undefined },
  ) {
    super(init);
    this.authUrl = init.authUrl;
    this.status = init.status;
  }
}
