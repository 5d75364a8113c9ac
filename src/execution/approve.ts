/** Somebody is asked before a call that may change something. */

import { ToolCallError } from "../errors/tool-call-error.js";
import type { JsonSchema, ServerRef } from "../model/listed-tool.js";
import type { ArgumentCheck } from "./check-arguments.js";
import type { CallInterceptor, ToolCall } from "./tool-call.js";

/** What the one who approves gets to see. */
export interface ApprovalRequest {
  readonly server: ServerRef;
  readonly tool: ToolCall["tool"];
  /** As they are sent to the tool's own server: checked, repaired, with what interceptors add. */
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

export interface ApproveParts {
  /** What is known to change nothing. */
  readonly isReadOnly: (call: ToolCall) => boolean;
  readonly check: ArgumentCheck;
  /** The schema that `check` goes by. */
  readonly schemaOf: (call: ToolCall) => JsonSchema;
}

/** Refuses what is not approved. Arguments that would be refused anyway are not asked about. */
export function approveStep(
  option: ApproveOption,
  { isReadOnly, check, schemaOf }: ApproveParts,
): CallInterceptor {
  const { ask, when = "unsafe" } = typeof option === "function" ? { ask: option } : option;
  const isAsked = (call: ToolCall, request: ApprovalRequest): boolean => {
    if (typeof when === "function") return when(request);
    return when === "always" || !isReadOnly(call);
  };
  return (next) => async (call) => {
    const { tool, principal, options } = call;
    const schema = schemaOf(call);
    const sent = await check(call);
    const args = sent?.args ?? call.args;
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
    // Handed on as it came: a fallback server starts from these arguments, the first one need not check them again.
    return next({ ...call, checked: { schema, args: call.args, added: call.added, sent } });
  };
}
