/** Asks the program for approval before a call that may change something. */

import { ToolCallError } from "../errors/tool-call-error.js";
import type { ServerRef } from "../model/listed-tool.js";
import type { CallTarget } from "./call-target.js";
import { type ArgumentCheck, inputSchemaOf } from "./check-arguments.js";
import type { CallInterceptor, ResolvedCall, ToolCall } from "./tool-call.js";

/** A call that waits for approval. */
export interface ApprovalRequest {
  readonly server: ServerRef;
  readonly tool: ToolCall["tool"];
  /** The arguments as they would be sent to the tool's own server: checked, repaired, with the values of interceptors. */
  readonly args: Readonly<Record<string, unknown>>;
  readonly principal?: string | undefined;
  /** `context` of the call. */
  readonly context?: unknown;
  readonly signal?: AbortSignal | undefined;
}

export type ApproveFunction = (call: ApprovalRequest) => boolean | Promise<boolean>;

/** Asks before calls that are not known to be read-only, or before those that `when` selects. */
export type ApproveOption =
  | ApproveFunction
  | {
      readonly ask: ApproveFunction;
      /** @default "unsafe": all calls except those of tools that a trusted server marks as read-only */
      readonly when?: "unsafe" | "always" | ((call: ApprovalRequest) => boolean);
    };

interface ApproveParts {
  readonly check: ArgumentCheck;
  readonly resolve: (tool: ToolCall["tool"]) => CallTarget;
}

const isReadOnly = ({ target, tool }: ResolvedCall): boolean =>
  target.isTrusted && tool.annotations?.readOnlyHint === true;

/** Rejects calls that are not approved. Calls with invalid arguments fail without a question. */
export function approveStep(option: ApproveOption, { check, resolve }: ApproveParts): CallInterceptor {
  const { ask, when = "unsafe" } = typeof option === "function" ? { ask: option } : option;
  const needsApproval = (call: ResolvedCall, request: ApprovalRequest): boolean => {
    if (typeof when === "function") return when(request);
    return when === "always" || !isReadOnly(call);
  };
  return (next) => async (given) => {
    const call: ResolvedCall = { ...given, target: resolve(given.tool) };
    const { tool, principal, options } = call;
    const schema = inputSchemaOf(call);
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
    if (needsApproval(call, request) && (await ask(request)) !== true) {
      throw new ToolCallError({
        code: "REFUSED",
        server: tool.server,
        tool: tool.sourceName,
        what: "The call was not approved",
        next: "Approve it, or do without it",
        outcome: "unsent",
      });
    }
    // The original arguments are passed on, because a fallback server checks them against its own schema. The first server
    // reuses the outcome of this check.
    return next({ ...call, checked: { schema, args: call.args, added: call.added, sent } });
  };
}
