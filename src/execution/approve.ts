/** Somebody is asked before a call that may change something. */
import type { ServerRef } from "../config/listed-tool.js";
import { ToolCallError } from "../errors/tool-call-error.js";
import type { CallInterceptor, ToolCall } from "./tool-call.js";

/** What the one who approves gets to see. */
export interface ApprovalRequest {
  readonly server: ServerRef;
  readonly tool: ToolCall["tool"];
  readonly args: Readonly<Record<string, unknown>>;
  readonly principal?: string | undefined;
  /** `context` of the call. */
  readonly context?: unknown;
  readonly signal?: AbortSignal | undefined;
}

export type ApproveFunction = (call: ApprovalRequest) => boolean | Promise<boolean>;

/** Asks before calls: before those that are not known to be read-only, or before those that `when` chooses. */
export type ApproveOption =
  | ApproveFunction
  | {
      readonly ask: ApproveFunction;
      /** @default "unsafe": all but those that a trusted server marks as read-only */
      readonly when?: "unsafe" | "always" | ((call: ApprovalRequest) => boolean);
    };

/** Refuses what is not approved. `isReadOnly` says what is known to change nothing. */
export function approveStep(option: ApproveOption, isReadOnly: (call: ToolCall) => boolean): CallInterceptor {
  const { ask, when = "unsafe" } = typeof option === "function" ? { ask: option } : option;
  const isAsked = (call: ToolCall, request: ApprovalRequest): boolean => {
    if (typeof when === "function") return when(request);
    return when === "always" || !isReadOnly(call);
  };
  return (next) => async (call) => {
    const { tool, args, principal, options } = call;
    const request: ApprovalRequest = {
      server: { name: tool.server },
      tool,
      args,
      principal,
      context: options.context,
      signal: options.signal,
    };
    if (isAsked(call, request) && (await ask(request)) !== true) {
      throw new ToolCallError({
        code: "REFUSED",
        server: tool.server,
        tool: tool.sourceName,
        what: "The call was not approved",
        next: "Approve it, or do without it",
        outcome: "unsent",
      });
    }
    return next(call);
  };
}
