/** The result that takes the place of a real one while a call is suspended. */
import { AuthError, ToolCallError } from "@toolport/base";
import type { CallAnswer, CallStep, ToolCall } from "../tool-call.js";
import { INPUT_META_KEY } from "../tool-result.js";
import { type CallSuspension, type Pause, suspendsFor } from "./call-suspension.js";

/** Key in `_meta` of the result that takes the place of a real one while the call is suspended. */
const SUSPENDED_META_KEY = "toolport/suspended";

/** Suspends the call. The result passes through the pipeline like a real one; its mark is for interceptors. */
export function suspendedAnswer(pause: Pause, server: string): CallAnswer {
  const text = "The call waits for a person.";
  const result = {
    text,
    content: [{ type: "text", text }],
    isError: false,
    // Never cached.
    _meta: { [SUSPENDED_META_KEY]: { reason: pause.reason }, [INPUT_META_KEY]: true },
    server,
    attempts: 0,
    durationMs: 0,
  } as const;
  return { result, pause, isOpen: true };
}

/** Suspends a call that needs a login before it can be sent. */
export const suspendForLogin: CallStep = (next) => (call) =>
  next(call).catch((error: unknown) => {
    const pause = loginPause(call, error);
    if (pause === undefined) throw error;
    return suspendedAnswer(pause, call.tool.server);
  });

/** Undefined unless the call failed because of a missing login and was not sent. A later round keeps its token instead. */
export function loginPause(
  { suspension }: { readonly suspension?: CallSuspension | undefined },
  error: unknown,
): Pause | undefined {
  if (!(error instanceof AuthError) || error.code !== "AUTH_REQUIRED" || error.outcome !== "unsent")
    return undefined;
  if (!suspendsFor(suspension, "login") || suspension.input !== undefined) return undefined;
  return { reason: "login", authUrl: error.authUrl };
}

/** Ends a call before it is sent. */
export const refused = ({ server, sourceName }: ToolCall["tool"], what: string, next?: string) =>
  new ToolCallError({ code: "REFUSED", server, tool: sourceName, what, next, outcome: "unsent" });

/** Ends a call that only asked for approval and needs none. */
export const needsNoPerson = (tool: ToolCall["tool"]): ToolCallError =>
  refused(tool, "The call was not sent, because it only asks whether a person has to approve it");

/** For a call that has to wait for a person but has no `suspend`. */
export const needsSuspend = (tool: ToolCall["tool"]): ToolCallError =>
  refused(
    tool,
    "The call needs the approval of a person, and the option approve leaves that to a suspended call",
    "Call it with { suspend: true }, or let approve decide at once",
  );
