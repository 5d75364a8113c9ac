/** The saved form of a suspended call, and of a call with a key; and the errors of those that cannot be suspended or resumed. */
import { CatalogError, SuspensionError, ToolCallError } from "../../errors/toolport-error.js";
import type { Pause, SuspendReason } from "../../execution/suspend/call-suspension.js";
import type { Suspended } from "../../execution/suspend/suspension.js";
import type { TaskRecord } from "../../execution/tasks/task-record.js";
import type { AnyCallOptions } from "../../execution/tool-call.js";
import type { ToolResult } from "../../execution/tool-result.js";
import { isRecord } from "../../util/json.js";
import type { LeasedRecord } from "./held-record.js";

type Arguments = Readonly<Record<string, unknown>>;

/** Options of the first call that later rounds need too. */
export type SavedCallOptions = Pick<
  AnyCallOptions,
  "timeoutMs" | "idempotent" | "headers" | "meta" | "applyDefaults" | "checkArguments" | "added"
>;

/** How a call with a key ended: with a result, with an error of the server, or without being sent. */
export type SavedOutcome =
  | { readonly result: ToolResult }
  | { readonly error: Pick<ToolCallError, "code" | "what" | "rpcCode"> }
  | { readonly refused: true };

export interface SuspensionRecord extends LeasedRecord {
  readonly format: 1;
  /**
   * `waiting` for a person; `sending`: a process sends the call until `leaseUntil`; `unknown`: the call was sent and its outcome
   * was lost; `done`: the saved outcome of a call with a key.
   */
  readonly state: "waiting" | "sending" | "unknown" | "done";
  /** The token of this round. */
  readonly token?: string | undefined;
  readonly principal: string | null;
  readonly server: string;
  /** Identity of the server: a name and an address or command. */
  readonly identity: string;
  /** Public name of the tool. */
  readonly tool: string;
  /** Name of the tool on its server; undefined if the server has not listed it yet. */
  readonly sourceName?: string | undefined;
  /** Hash of the tool's definition; undefined if the server has not listed it yet. */
  readonly definition?: string | undefined;
  /** The arguments as the caller gave them. */
  readonly given: Arguments;
  readonly options: SavedCallOptions;
  readonly ttlMs: number;
  /** What the call may wait for; undefined: anything. */
  readonly reasons?: readonly SuspendReason[] | undefined;
  readonly createdAt: number;
  /** What the call waits for; undefined for a call with a key that is sent for the first time. */
  readonly pause?: Pause | undefined;
  /** The task at the server that waits for input. */
  readonly task?: TaskRecord | undefined;
  /** The arguments that a person has approved. */
  readonly approved?: Arguments | undefined;
  /** The server no longer accepts its state. */
  readonly isExpiredAtServer?: boolean | undefined;
  /** The call was sent before and its outcome was lost: a later round that is not sent does not change that. */
  readonly isUncertain?: boolean | undefined;
  /** The outcome of a call with a key. */
  readonly outcome?: SavedOutcome | undefined;
  /** Why the outcome was lost. */
  readonly failure?: string | undefined;
}

/** Points from a token to the record of a call with a key. */
export interface SuspensionPointer {
  readonly format: 1;
  readonly pointsTo: string;
}

export const isPointer = (value: unknown): value is SuspensionPointer =>
  isRecord(value) && value["format"] === 1 && typeof value["pointsTo"] === "string";

export const isSuspensionRecord = (value: unknown): value is SuspensionRecord =>
  isRecord(value) &&
  value["format"] === 1 &&
  typeof value["state"] === "string" &&
  typeof value["tool"] === "string" &&
  typeof value["server"] === "string" &&
  isRecord(value["given"]);

/** Names for errors: those of the server and of the tool on it. */
export const namesOf = ({ server, sourceName, tool }: SuspensionRecord) => ({
  server,
  tool: sourceName ?? tool,
});

/** What the caller gets. */
export function toSuspended(record: SuspensionRecord): Suspended {
  const { token, server, tool, given, options, expiresAt, pause } = record;
  const common = {
    suspended: true as const,
    token: token!,
    server,
    tool,
    expiresAt: new Date(expiresAt).toISOString(),
  };
  switch (pause?.reason) {
    case "input": {
      const { requests, round } = pause.input;
      return { ...common, reason: "input", requests, args: pause.args, round };
    }
    case "approval":
      return { ...common, reason: "approval", requests: {}, args: pause.args, round: 0 };
    default: {
      const authUrl = pause?.authUrl;
      const requests = authUrl === undefined ? {} : { authUrl };
      return { ...common, reason: "login", requests, args: { ...given, ...options.added }, round: 0 };
    }
  }
}

const PROBLEMS = {
  /** The same for wrong, used, expired and foreign tokens, so that it tells nothing about them. */
  unknownToken: {
    code: "SUSPENSION_UNKNOWN",
    what: "No suspended call with this token waits for this principal",
    next: "It may be used, expired or of another principal; suspended() lists what waits",
  },
  /** For a call that may only be found, not begun. */
  unknownKey: {
    code: "SUSPENSION_UNKNOWN",
    what: "No call with this key was made by this principal, or it has expired",
    next: "Call the tool again",
  },
  movedServer: {
    code: "SUSPENSION_MOVED",
    what: "The server of the suspended call is not configured here, or its address or command has changed",
    next: "Resume with the configuration that the call was made with, or discard it and call again",
  },
  expiredAtServer: {
    code: "SUSPENSION_EXPIRED",
    what: "The server no longer accepts the state of the call",
    next: "Resume with { restart: true } to begin the call anew",
    at: "server",
  },
  reusedKey: {
    code: "KEY_REUSED",
    what: "The key was already used for another server, tool or other arguments",
    next: "Use one key for one call only",
  },
  notApproved: {
    code: "REFUSED",
    what: "The call was not approved, or it was discarded",
    next: "Make a new call if it is still needed",
  },
  declinedPages: {
    code: "REFUSED",
    what: "The server demands that the user opens a web page first, and the user declined",
    next: "Call again if the user changes their mind",
  },
} as const;

/** The error for a call that is not suspended or resumed. Nothing was sent. */
export function suspensionError(
  problem: keyof typeof PROBLEMS,
  record?: SuspensionRecord | { readonly tool: string },
  cause?: unknown,
): SuspensionError | ToolCallError {
  const names = record && ("server" in record ? namesOf(record) : record);
  const init = { ...names, ...PROBLEMS[problem], outcome: "unsent", cause } as const;
  return init.code === "REFUSED" ? new ToolCallError(init) : new SuspensionError(init);
}

export const changedTool = (record: SuspensionRecord): CatalogError =>
  new CatalogError({
    ...namesOf(record),
    code: "TOOL_CHANGED",
    what: "The definition of the tool has changed since the call was suspended",
    next: "Review the new definition, discard this call and call the tool again",
    outcome: "unsent",
  });

export const unknownOutcome = (record: SuspensionRecord): SuspensionError =>
  new SuspensionError({
    ...namesOf(record),
    code: "OUTCOME_UNKNOWN",
    what: `The call was sent, and its result was lost${record.failure === undefined ? "" : ` (${record.failure})`}, so the tool may have run`,
    next: "Find out whether it did; if it may run again, resume with { again: true } or call with idempotent: true",
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
