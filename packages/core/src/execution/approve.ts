/** Asks the program for approval before a call that may change something. */

import { canonicalJson, type ServerRef } from "@toolport/base";
import { suspendsFor } from "./suspend/call-suspension.js";
import { needsSuspend, refused, suspendedAnswer } from "./suspend/paused-result.js";
import type { ArgumentCheck, CallStep, CallTarget, ResolvedCall, ToolCall } from "./tool-call.js";

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

/**
 * Decides about a call. `"suspend"` leaves the decision to a person: the call is saved, and `toolport.resume(token, { approve })`
 * continues or ends it. A call without `suspend` is rejected then.
 */
export type ApproveFunction = (call: ApprovalRequest) => boolean | "suspend" | Promise<boolean | "suspend">;

/**
 * Asks before calls that are not known to be read-only, or before those that `when` selects.
 *
 * @example
 * ```ts
 * createToolport({ mcpServers, approve: { when: "always" } }); // a person approves each call with resume()
 * ```
 */
export type ApproveOption =
  | ApproveFunction
  | {
      /** @default suspends every call that `when` selects */
      readonly ask?: ApproveFunction;
      /** @default "unsafe": all calls except those of tools that a trusted server marks as read-only */
      readonly when?: "unsafe" | "always" | ((call: ApprovalRequest) => boolean);
    };

/** A person has approved the call with exactly these arguments. */
const isApproved = ({ suspension }: ToolCall, args: ToolCall["args"]): boolean =>
  suspension?.approved !== undefined && canonicalJson(suspension.approved) === canonicalJson(args);

const isReadOnly = ({ target, tool }: ResolvedCall): boolean =>
  target.isTrusted && tool.annotations?.readOnlyHint === true;

/** Rejects calls that are not approved. Calls with invalid arguments fail without a question. */
export function approveStep(
  option: ApproveOption,
  { check, resolve }: { check: ArgumentCheck; resolve: (tool: ToolCall["tool"]) => CallTarget },
): CallStep {
  const { ask = () => "suspend" as const, when = "unsafe" } =
    typeof option === "function" ? { ask: option } : option;
  const needsApproval = (call: ResolvedCall, request: ApprovalRequest): boolean => {
    if (typeof when === "function") return when(request);
    return when === "always" || !isReadOnly(call);
  };
  return (next) => async (given) => {
    // An approval is valid for all rounds of the call.
    if (given.suspension?.input !== undefined) return next(given);
    const call: ResolvedCall = { ...given, target: resolve(given.tool) };
    const { tool, principal, options, target } = call;
    const schema = target.source?.inputSchema ?? tool.inputSchema;
    const sent = await check(call);
    const args = sent?.args ?? call.args;
    call.onSent?.(sent === undefined ? call : { ...call, args }, sent?.repaired);
    const request: ApprovalRequest = {
      server: { name: tool.server },
      tool,
      args,
      principal,
      context: options.context,
      signal: options.signal,
    };
    const verdict = isApproved(call, args) || !needsApproval(call, request) || (await ask(request));
    if (verdict === "suspend") {
      if (!suspendsFor(call.suspension, "approval")) throw needsSuspend(tool);
      return suspendedAnswer({ reason: "approval", args }, tool.server);
    }
    if (verdict !== true) throw refused(tool, "The call was not approved", "Approve it, or do without it");
    // The original arguments are passed on, because a fallback server checks them against its own schema. The first server
    // reuses the outcome of this check.
    return next({ ...call, checked: { schema, args: call.args, added: call.added, sent } });
  };
}
