/** The saved form of a suspended call, and of a call with a key. */
import type { ToolCallError } from "../../errors/tool-call-error.js";
import type { Pause, SuspendReason } from "../../execution/suspend/call-suspension.js";
import type { Suspended } from "../../execution/suspend/suspension.js";
import type { TaskRecord } from "../../execution/tasks/task-record.js";
import type { AnyCallOptions } from "../../execution/tool-call.js";
import type { ToolResult } from "../../execution/tool-result.js";

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

export interface SuspensionRecord {
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
  readonly expiresAt: number;
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
  /** The process that sends the call: a random text. */
  readonly holder?: string | undefined;
  /** Epoch milliseconds. */
  readonly leaseUntil?: number | undefined;
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

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export const isPointer = (value: unknown): value is SuspensionPointer =>
  isObject(value) && value["format"] === 1 && typeof value["pointsTo"] === "string";

export const isSuspensionRecord = (value: unknown): value is SuspensionRecord =>
  isObject(value) &&
  value["format"] === 1 &&
  typeof value["state"] === "string" &&
  typeof value["tool"] === "string" &&
  typeof value["server"] === "string" &&
  isObject(value["given"]);

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
