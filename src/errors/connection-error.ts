/** A server that could not be started or reached, or a connection that was lost. */
import { ToolportError, type ToolportErrorInit } from "./toolport-error.js";

export type ConnectionErrorCode =
  | "SPAWN_FAILED"
  | "UNREACHABLE"
  | "HTTP_STATUS"
  | "BAD_RESPONSE"
  | "HANDSHAKE_FAILED"
  | "SESSION_LOST"
  | "STREAM_CUT"
  | "MESSAGE_TOO_LARGE"
  | "ADDRESS_REFUSED"
  | "TRANSPORT_NOT_SUPPORTED"
  | "RESTART_LIMIT"
  | "CONNECT_TIMEOUT"
  | "CIRCUIT_OPEN"
  | "CLOSED";

export interface ConnectionErrorDetails {
  /** Exit code of the process, for stdio and Docker. */
  exitCode?: number | null | undefined;
  /** Signal that ended the process. */
  signal?: string | null | undefined;
  /** Last lines of the process's stderr (4 KiB at most). */
  stderrTail?: string | undefined;
  /** System error code such as `ENOENT` or `ECONNREFUSED`. */
  errno?: string | undefined;
  /** HTTP status. */
  status?: number | undefined;
  /** How long the server asks the client to wait (`Retry-After`). */
  retryAfterMs?: number | undefined;
  /** One error per attempt, if there were several. */
  attempts?: readonly ToolportError[] | undefined;
}

/** Thrown when a server cannot be started or reached, or a connection is lost. */
export class ConnectionError extends ToolportError<ConnectionErrorCode> implements ConnectionErrorDetails {
  static override readonly kind = "ConnectionError";
  override readonly name = "ConnectionError";
  readonly exitCode?: number | null | undefined;
  readonly signal?: string | null | undefined;
  readonly stderrTail?: string | undefined;
  readonly errno?: string | undefined;
  readonly status?: number | undefined;
  readonly retryAfterMs?: number | undefined;
  readonly attempts?: readonly ToolportError[] | undefined;

  constructor(init: ToolportErrorInit<ConnectionErrorCode> & ConnectionErrorDetails) {
    super(init);
    this.exitCode = init.exitCode;
    this.signal = init.signal;
    this.stderrTail = init.stderrTail;
    this.errno = init.errno;
    this.status = init.status;
    this.retryAfterMs = init.retryAfterMs;
    this.attempts = init.attempts;
  }
}
