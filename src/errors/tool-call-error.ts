/** A request reached a live connection but could not be made, or its answer is not to be trusted. */
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
  /** JSON-RPC error code of the server's answer. */
  rpcCode?: number | undefined;
  /** `data` of the JSON-RPC error, without secrets of the server's entry. */
  data?: unknown;
  /** What was going on when the time ran out: `connect`, `list`, `call`, … */
  phase?: string | undefined;
  /** Problems found in the arguments, each with its path. */
  issues?: readonly { path: string; message: string }[] | undefined;
  /** The answer as it came, where it was not accepted; secrets of the server's entry are taken out of it. */
  result?: unknown;
  /** One error per thing that was tried, where several were. */
  attempts?: readonly ToolportError[] | undefined;
}

/** Thrown when a call could not be made or its answer cannot be used. A tool that reports failure does not throw. */
export class ToolCallError extends ToolportError<ToolCallErrorCode> implements ToolCallErrorDetails {
  static override readonly kind = "ToolCallError";
  override readonly name = "ToolCallError";
  readonly rpcCode?: number | undefined;
  readonly data?: unknown;
  readonly phase?: string | undefined;
  readonly issues?: readonly { path: string; message: string }[] | undefined;
  readonly result?: unknown;
  readonly attempts?: readonly ToolportError[] | undefined;

  constructor(init: ToolportErrorInit<ToolCallErrorCode> & ToolCallErrorDetails) {
    super(init);
    this.rpcCode = init.rpcCode;
    this.data = init.data;
    this.phase = init.phase;
    this.issues = init.issues;
    this.result = init.result;
    this.attempts = init.attempts;
  }
}
