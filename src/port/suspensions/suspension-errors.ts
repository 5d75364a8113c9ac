/** Errors of calls that cannot be suspended or resumed. */
import { CatalogError } from "../../errors/catalog-error.js";
import { SuspensionError } from "../../errors/suspension-error.js";
import { ToolCallError } from "../../errors/tool-call-error.js";
import { namesOf, type SuspensionRecord } from "./suspension-record.js";

/** The same for wrong, used, expired and foreign tokens, so that it tells nothing about them. */
export const unknownToken = (): SuspensionError =>
  new SuspensionError({
    code: "SUSPENSION_UNKNOWN",
    what: "No suspended call with this token waits for this principal",
    next: "It may be used, expired or of another principal; suspended() lists what waits",
    outcome: "unsent",
  });

/** For a call that may only be found, not begun. */
export const unknownKey = (tool: string): SuspensionError =>
  new SuspensionError({
    tool,
    code: "SUSPENSION_UNKNOWN",
    what: "No call with this key was made by this principal, or it has expired",
    next: "Call the tool again",
    outcome: "unsent",
  });

export const movedServer = (record: SuspensionRecord): SuspensionError =>
  new SuspensionError({
    ...namesOf(record),
    code: "SUSPENSION_MOVED",
    what: "The server of the suspended call is not configured here, or its address or command has changed",
    next: "Resume with the configuration that the call was made with, or discard it and call again",
    outcome: "unsent",
  });

export const changedTool = (record: SuspensionRecord): CatalogError =>
  new CatalogError({
    ...namesOf(record),
    code: "TOOL_CHANGED",
    what: "The definition of the tool has changed since the call was suspended",
    next: "Review the new definition, discard this call and call the tool again",
    outcome: "unsent",
  });

export const expiredAtServer = (record: SuspensionRecord, cause?: unknown): SuspensionError =>
  new SuspensionError({
    ...namesOf(record),
    code: "SUSPENSION_EXPIRED",
    what: "The server no longer accepts the state of the call",
    next: "Resume with { restart: true } to begin the call anew",
    at: "server",
    outcome: "unsent",
    cause,
  });

export const reusedKey = (record: SuspensionRecord): SuspensionError =>
  new SuspensionError({
    ...namesOf(record),
    code: "KEY_REUSED",
    what: "The key was already used for another server, tool or other arguments",
    next: "Use one key for one call only",
    outcome: "unsent",
  });

export const unknownOutcome = (record: SuspensionRecord): SuspensionError =>
  new SuspensionError({
    ...namesOf(record),
    code: "OUTCOME_UNKNOWN",
    what: `The call was sent, and its result was lost${record.failure === undefined ? "" : ` (${record.failure})`}, so the tool may have run`,
    next: "Find out whether it did; if it may run again, resume with { again: true } or call with idempotent: true",
  });

export const notApproved = (record: SuspensionRecord): ToolCallError =>
  new ToolCallError({
    ...namesOf(record),
    code: "REFUSED",
    what: "The call was not approved, or it was discarded",
    next: "Make a new call if it is still needed",
    outcome: "unsent",
  });

export const declinedPages = (record: SuspensionRecord): ToolCallError =>
  new ToolCallError({
    ...namesOf(record),
    code: "REFUSED",
    what: "The server demands that the user opens a web page first, and the user declined",
    next: "Call again if the user changes their mind",
    outcome: "unsent",
  });

export const notOffered = (what: string, next: string): SuspensionError =>
  new SuspensionError({ code: "NOT_OFFERED", what, next, outcome: "unsent" });

/** The error with which the server answered the call before. */
export const savedError = (
  record: SuspensionRecord,
  error: Pick<ToolCallError, "code" | "what" | "rpcCode">,
): ToolCallError =>
  new ToolCallError({
    ...namesOf(record),
    ...error,
    next: "The call with this key has ended; use another key to call the tool again",
  });
