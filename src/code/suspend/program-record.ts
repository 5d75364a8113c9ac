/** The saved form of a program that waits for a person. */
import type { Suspended } from "../../execution/suspend/suspension.js";
import type { SuspendOptions } from "../../execution/tool-call.js";
import type { LeasedRecord } from "../../port/suspensions/held-record.js";
import { isRecord } from "../../util/json.js";
import type { CodeCall, CodeSuspended } from "../code-mode.js";
import type { RunLimits } from "../run-program.js";

/** A call that the image of a program waits for. */
export interface PendingCall {
  /** Number of the call in the program. */
  readonly id: number;
  /** Public name of the tool. */
  readonly tool: string;
  readonly args: Readonly<Record<string, unknown>>;
  /** Token of the suspended call itself. */
  readonly token: string;
}

/** A tool of the program: its public name, and the hash of the definition that the program was written for. */
export interface SavedTool {
  readonly name: string;
  readonly hash: string;
}

export interface ProgramRecord extends LeasedRecord {
  readonly format: 1;
  /** `waiting` for a person, or `running` until `leaseUntil`. A process that dies leaves it running: the image can be continued again. */
  readonly state: "waiting" | "running";
  readonly token: string;
  /** What the person is asked, without the token of the call itself. */
  readonly waitsFor: Omit<Suspended, "token">;
  /** Random text, or the hash of the caller's key. The keys of all calls of the program begin with it. */
  readonly run: string;
  /** Hash of the caller's key, if there is one. */
  readonly key?: string | undefined;
  readonly source: string;
  /** The image, as base64. */
  readonly image: string;
  /** Version of the executor that made the image. */
  readonly executor: string;
  /** Tools by the names of server and function in the program. */
  readonly tools: Readonly<Record<string, Readonly<Record<string, SavedTool>>>>;
  /** The calls that have not been answered. The person is asked about the first one. */
  readonly pending: readonly PendingCall[];
  readonly calls: readonly CodeCall[];
  readonly logs: readonly string[];
  readonly limits: RunLimits;
  readonly cpuMs: number;
  /** Time that the program ran, sleep excluded. */
  readonly timeMs: number;
  readonly ttlMs: number;
  /** What the calls may wait for; undefined: anything. */
  readonly reasons?: SuspendOptions["reasons"];
}

/** What is known about a program with a key: the token of its record, or its outcome. */
export interface ProgramPointer {
  readonly format: 1;
  readonly source: string;
  readonly token?: string | undefined;
  /** The outcome as JSON. */
  readonly outcome?: string | undefined;
}

export const isProgramPointer = (value: unknown): value is ProgramPointer =>
  isRecord(value) && value["format"] === 1 && typeof value["source"] === "string" && !("image" in value);

export const isProgramRecord = (value: unknown): value is ProgramRecord =>
  isRecord(value) &&
  value["format"] === 1 &&
  typeof value["image"] === "string" &&
  typeof value["token"] === "string" &&
  isRecord(value["tools"]) &&
  Array.isArray(value["pending"]);

/** What the caller gets. */
export const toSuspendedProgram = (record: ProgramRecord): CodeSuspended => {
  const { waitsFor, token, logs, calls, cpuMs } = record;
  const expiresAt = new Date(record.expiresAt).toISOString();
  return { ...waitsFor, token, logs, calls, cpuMs, expiresAt } as CodeSuspended;
};
