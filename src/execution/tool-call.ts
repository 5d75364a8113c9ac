/** What flows through the call pipeline, and the shape of everything that stands in it. */

import type { CheckArguments } from "../config/server-entry.js";
import type { ToolportError } from "../errors/toolport-error.js";
import type { JsonSchema } from "../model/listed-tool.js";
import type { ToolInfo } from "../model/tool-info.js";
import type { Progress } from "../protocol/pending-request.js";
import type { ArgumentRepair } from "../schema/argument-repair.js";
import type { Resends } from "../transports/resends.js";
import type { TaskRecord } from "./tasks/task-record.js";
import type { ToolResult } from "./tool-result.js";

/** What a caller may say about one call. */
export interface CallToolOptions {
  /**
   * Longest silence of the server's; progress counts as a sign of life. `Infinity`: no limit.
   * @default the server's `timeoutMs`, then the port's (60 s)
   */
  timeoutMs?: number;
  /** Ends the call; the server is told. */
  signal?: AbortSignal;
  /** Gets every progress report of the call; one at a time if it returns promises. */
  onProgress?: (progress: Progress) => unknown;
  /** The call may run twice: it is repeated when its outcome is unknown. @default false */
  idempotent?: boolean;
  /** HTTP headers for this call only. */
  headers?: Readonly<Record<string, string>>;
  /** `_meta` of the request. */
  meta?: Readonly<Record<string, unknown>>;
  /** Anything of the caller's; reaches interceptors, listeners and `beforeFallback`. */
  context?: unknown;
  /** Fill in the defaults of the tool's schema before the arguments are checked. @default false */
  applyDefaults?: boolean;
  /**
   * What happens to arguments that do not fit the tool's schema.
   * @default the server's `checkArguments`, then the port's (`"repair"`)
   * @example
   * ```ts
   * await toolport.callTool("files__write", args, { checkArguments: "strict" });
   * ```
   */
  checkArguments?: CheckArguments;
  /**
   * Values of your own that are put over the arguments after these were checked. They are not checked: the tool's schema
   * need not list them.
   * @default none
   * @example
   * ```ts
   * await toolport.callTool("crm__find", argsOfTheModel, { added: { tenant: "acme" } });
   * ```
   */
  added?: Readonly<Record<string, unknown>>;
  /** Run it as a task and give back a handle instead of the result: see {@link TaskCallOptions}. @default false */
  task?: false;
}

/** How a task is to be made. */
export interface TaskOptions {
  /**
   * How long the server should keep the task and its result. Servers from 2026-07-28 on choose by themselves.
   * @default 3600000
   */
  ttlMs?: number;
}

/**
 * The options of a call that gives back a handle at once, while the work goes on at the server.
 *
 * @example
 * ```ts
 * const task = await toolport.callTool("research__report", { topic: "tides" }, { task: true });
 * const result = await task.result();
 * ```
 */
export interface TaskCallOptions extends Omit<CallToolOptions, "task"> {
  task: true | TaskOptions;
}

/** One thing that was tried on the way to an answer. */
export interface CallAttempt {
  readonly server: string;
  readonly durationMs: number;
  /** Why it failed; undefined: it answered. */
  readonly error?: ToolportError | undefined;
}

/** The outcome of a check, good for the same schema, arguments and added values. */
interface CheckedArguments {
  readonly schema: JsonSchema;
  readonly args: ToolCall["args"];
  readonly added: ToolCall["added"];
  readonly sent: SentArguments | undefined;
}

/** What is sent for a call, written down when it is known: before the first attempt, and again for every fallback. */
export interface CallTrail {
  sent?: ToolCall | undefined;
  repaired?: readonly ArgumentRepair[] | undefined;
  onReady?: (() => void) | undefined;
}

/** What is sent in place of the arguments of a call. */
export interface SentArguments {
  readonly args: ToolCall["args"];
  readonly repaired?: readonly ArgumentRepair[] | undefined;
}

/** One call. A step that wants to change it hands a changed copy to the next. */
export interface ToolCall {
  /** The tool as listed; `tool.server` is the server asked now, which a fallback changes. */
  readonly tool: ToolInfo;
  /** As the model gave them; what is sent may be repaired. */
  readonly args: Readonly<Record<string, unknown>>;
  /**
   * Put over the arguments after these were checked. To add values, hand on `{ ...call, added: { ...call.added, tenant } }`.
   */
  readonly added?: Readonly<Record<string, unknown>> | undefined;
  readonly options: CallToolOptions | TaskCallOptions;
  /** The task whose result is wanted; undefined: the tool is to be called. */
  readonly task?: TaskRecord | undefined;
  /** Whose call it is; undefined outside `as(principal)`. */
  readonly principal?: string | undefined;
  /** What was tried so far, in order. Every step may look; the attempt itself writes it down. */
  readonly attempts: CallAttempt[];
  /** When the call began (`performance.now()`). */
  readonly startedAt: number;
  /** When it must be over at the latest (`performance.now()`); `Infinity`: never. */
  readonly deadline: number;
  /** Wait for a server that is coming back; false while another one can be asked instead. */
  readonly patient: boolean;
  /**
   * How often it may still be sent again to this server. Set by the retry step, for the layers below it; a copy of the call
   * for that would cost every call more than the rest of the step.
   * @internal
   */
  resends?: Resends | undefined;
  /** What checking arguments and results may still cost; the two share it. */
  readonly budget: { leftMs: number };
  /**
   * What an earlier check of the same arguments found.
   * @internal
   */
  readonly checked?: CheckedArguments | undefined;
  /**
   * What is really sent, for those who follow the call.
   * @internal
   */
  readonly trail?: CallTrail | undefined;
}

/** Answers a call, or throws a `ToolportError`. */
export type CallHandler = (call: ToolCall) => Promise<ToolResult>;

/**
 * A step of the pipeline. Yours have the same type as ours.
 *
 * @example
 * ```ts
 * const timing: CallInterceptor = (next) => async (call) => {
 *   const result = await next(call);
 *   console.error(`${call.tool.name} took ${result.durationMs} ms`);
 *   return result;
 * };
 * ```
 */
export type CallInterceptor = (next: CallHandler) => CallHandler;
