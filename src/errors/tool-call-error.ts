/** A request that could not be made, or whose response cannot be used. */
import { ToolportError, type ToolportErrorInit } from "./toolport-error.js";

export type ToolCallErrorCode =
  | "INVALID_ARGUMENTS"
  | "TIMEOUT"
  | "PROTOCOL"
  | "INVALID_OUTPUT"
  | "UNSUPPORTED_CONTENT"
  | "OVERLOADED"
  | "REFUSED"
  | "FALLBACK_EXHAUSTED"
  | "TASK_CANCELLED"
  | "TASK_LOST";

export interface ToolCallErrorDetails {
  /** JSON-RPC error code of the response. */
  rpcCode?: number | undefined;
  /** Message of the JSON-RPC error, with the secrets of the server entry redacted. */
  rpcMessage?: string | undefined;
  /** `data` of the JSON-RPC error, with the secrets of the server entry redacted. */
  data?: unknown;
  /** The phase that timed out: `connect`, `list`, `call`, … */
  phase?: string | undefined;
  /** Problems found in the arguments, each with its path. */
  issues?: readonly { path: string; message: string }[] | undefined;
  /** The rejected result of the server, with the secrets of the server entry redacted. */
  result?: unknown;
  /** One error per attempt, if there were several. */
  attempts?: readonly ToolportError[] | undefined;
}

/** Thrown when a call could not be made or its response cannot be used. A tool that reports failure does not throw. */
export class ToolCallError extends ToolportError<ToolCallErrorCode> implements ToolCallErrorDetails {
  static override readonly kind = "ToolCallError";
  override readonly name = "ToolCallError";
  readonly rpcCode?: number | undefined;
  readonly rpcMessage?: string | undefined;
  readonly data?: unknown;
  readonly phase?: string | undefined;
  readonly issues?: readonly { path: string; message: string }[] | undefined;
  readonly result?: unknown;
  readonly attempts?: readonly ToolportError[] | undefined;

  constructor(init: ToolportErrorInit<ToolCallErrorCode> & ToolCallErrorDetails) {
    super(init);
    this.rpcCode = init.rpcCode;
    this.rpcMessage = init.rpcMessage;
    this.data = init.data;
    this.phase = init.phase;
    this.issues = init.issues;
    this.result = init.result;
    this.attempts = init.attempts;
  }
}
