/** The call that flows through the pipeline, its options, and the types of the pipeline's steps. */

import type { Fields, JsonSchema, TokenBucket, ToolInfo, ToolportError } from "@toolport/base";
import type { ArgumentRepair } from "@toolport/schemas";
import type { SchemaValidator } from "@toolport/schemas/internal";
import type { SourceTool } from "../catalog/source-tool.js";
import type { ServerConfig } from "../config/server-config.js";
import type { CheckArguments } from "../config/server-entry.js";
import type { ServerConnection } from "../connection/server-connection.js";
import type { Progress } from "../protocol/pending-request.js";
import type { Session } from "../protocol/session.js";
import type { InputRound, SessionHooks } from "../protocol/session-hooks.js";
import type { Resends } from "../transports/server-transport.js";
import type { Breaker } from "./breaker.js";
import type { Limiter } from "./rate-limit.js";
import type { CallSuspension, Pause, SuspendReason } from "./suspend/call-suspension.js";
import type { TaskRecord } from "./tasks/task-record.js";
import type { ToolResult } from "./tool-result.js";

/** Options of one call. */
export interface CallToolOptions {
  /**
   * How long the server may stay silent. Every progress report restarts the time. `Infinity`: no limit.
   * @default `timeoutMs` of the server, or of the port (60 s)
   */
  timeoutMs?: number;
  /** Aborts the call; Toolport cancels the request on the server. */
  signal?: AbortSignal;
  /** Receives every progress report of the call. If it returns promises, it gets one report at a time. */
  onProgress?: (progress: Progress) => unknown;
  /** The call may run twice, so Toolport may repeat it when its outcome is unknown. @default false */
  idempotent?: boolean;
  /** HTTP headers for this call only. */
  headers?: Readonly<Record<string, string>>;
  /** `_meta` of the request. */
  meta?: Readonly<Record<string, unknown>>;
  /** Any value of yours. Interceptors, listeners and `beforeFallback` receive it. */
  context?: unknown;
  /** Fill in the defaults of the tool's schema before the arguments are checked. @default false */
  applyDefaults?: boolean;
  /**
   * What happens to arguments that do not match the tool's schema.
   * @default `checkArguments` of the server, or of the port (`"repair"`)
   * @example
   * ```ts
   * await toolport.callTool("files__write", args, { checkArguments: "strict" });
   * ```
   */
  checkArguments?: CheckArguments;
  /**
   * Values that Toolport adds to the arguments after it has checked them; they replace arguments of the same name. They are
   * not checked: the tool's schema need not list them.
   * @default none
   * @example
   * ```ts
   * await toolport.callTool("crm__find", argsOfTheModel, { added: { tenant: "acme" } });
   * ```
   */
  added?: Readonly<Record<string, unknown>>;
  /** Run the call as a task and return a handle instead of the result: see {@link TaskCallOptions}. @default false */
  task?: false;
  /** Save the call if it has to wait for a person, and return a token: see {@link SuspendCallOptions}. @default false */
  suspend?: false;
}

/** How a task is created. */
export interface TaskOptions {
  /**
   * How long the server should keep the task and its result. Servers from 2026-07-28 on ignore it and decide on their own.
   * @default 3600000
   */
  ttlMs?: number;
}

/**
 * Options of a call that returns a handle at once while the server still works.
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

/** How a call is suspended. */
export interface SuspendOptions {
  /**
   * How long the call waits for the person, at most 30 days. The server may accept its own state for a shorter time only; see
   * `SUSPENSION_EXPIRED`.
   * @default 604800000 (7 days)
   */
  ttlMs?: number;
  /**
   * Your own name of this call, so that it is sent at most once: the same key again returns the same suspension or the saved
   * result, or throws `OUTCOME_UNKNOWN`. It is bound to the tool and the arguments; with others it is `KEY_REUSED`.
   * @default none
   * @example
   * ```ts
   * await toolport.callTool("bank__pay", { amount: 5 }, { suspend: { key: `order-${orderId}` } });
   * ```
   */
  key?: string;
  /**
   * With `false`, only an earlier call with the same `key` is looked up: its suspension, or its saved result. If there is none, the
   * call throws `SUSPENSION_UNKNOWN` and nothing is sent.
   * @default true
   */
  create?: boolean;
  /** Refuse to suspend in a store that may lose the call in a crash. @default false */
  requireDurable?: boolean;
  /**
   * What the call may wait for. Anything else is as in a call without `suspend`: `onElicitation` answers the server, an approval
   * that is left to a person is `REFUSED`, a missing login is `AUTH_REQUIRED`.
   * @default ["input", "approval", "login"]
   * @example
   * ```ts
   * await toolport.callTool("bank__pay", { amount: 5 }, { suspend: { reasons: ["approval"] } });
   * ```
   */
  reasons?: readonly SuspendReason[];
}

/**
 * Options of a call that may wait for a person without a running process.
 *
 * @example
 * ```ts
 * const out = await toolport.callTool("travel__book", { to: "Oslo" }, { suspend: true });
 * if (isSuspended(out)) await saveForLater(out.token);
 * ```
 */
export interface SuspendCallOptions extends Omit<CallToolOptions, "suspend"> {
  suspend: true | SuspendOptions;
}

/** Options of any call. */
export type AnyCallOptions = CallToolOptions | TaskCallOptions | SuspendCallOptions;

/** One attempt of a call. */
export interface CallAttempt {
  readonly server: string;
  readonly durationMs: number;
  /** Why the attempt failed; undefined if the server answered. */
  readonly error?: ToolportError | undefined;
}

/** The outcome of a check, valid for the same schema, arguments and added values. */
interface CheckedArguments {
  readonly schema: JsonSchema;
  readonly args: ToolCall["args"];
  readonly added: ToolCall["added"];
  readonly sent: SentArguments | undefined;
}

/** What is sent in place of the arguments of a call. */
export interface SentArguments {
  readonly args: ToolCall["args"];
  readonly repaired?: readonly ArgumentRepair[] | undefined;
}

/** What a caller sends with a call whose rounds and tasks it keeps itself. */
export interface CallerRound extends InputRound {
  /** `task` of a legacy `tools/call`, sent as it is. The created task is returned unfollowed. */
  readonly task?: Fields | undefined;
  /** Set for a call that may become a task: its progress is reported until this signal aborts, also after the response. */
  readonly progressUntil?: AbortSignal | undefined;
}

/** One call. To change it, an interceptor passes a changed copy to the next step. */
export interface ToolCall {
  /** The tool as listed. `tool.server` is the server of the current attempt; a fallback changes it. */
  readonly tool: ToolInfo;
  /** The arguments as the model gave them. The arguments that are sent may be repaired. */
  readonly args: Readonly<Record<string, unknown>>;
  /**
   * Added to the arguments after they were checked. To add values, pass on `{ ...call, added: { ...call.added, tenant } }`.
   */
  readonly added?: Readonly<Record<string, unknown>> | undefined;
  readonly options: AnyCallOptions;
  /** Set to wait for the result of this task instead of calling the tool. */
  readonly task?: TaskRecord | undefined;
  /**
   * Set for a call with `suspend`.
   * @internal
   */
  readonly suspension?: CallSuspension | undefined;
  /**
   * Whose call it is. Set if the caller answers the questions of servers and follows its tasks itself.
   * @internal
   */
  readonly hooks?: SessionHooks | undefined;
  /**
   * Only with `hooks`.
   * @internal
   */
  readonly round?: CallerRound | undefined;
  /**
   * The caller decides about each fallback server, before anything is sent to it or it is even connected. Resolves with the call as that
   * server gets it; undefined: the next one is tried, and no error names this one.
   * @internal
   */
  readonly admitFallback?:
    | ((call: ToolCall) => ToolCall | undefined | Promise<ToolCall | undefined>)
    | undefined;
  /** The principal that makes the call; undefined outside `as(principal)`. */
  readonly principal?: string | undefined;
  /** All attempts so far, in order. */
  readonly attempts: CallAttempt[];
  /** When the call began (`performance.now()`). */
  readonly startedAt: number;
  /** When the call must be over (`performance.now()`); `Infinity`: no limit. */
  readonly deadline: number;
  /** Wait for a server that is reconnecting; false while a fallback server is left to try. */
  readonly patient: boolean;
  /**
   * The server of `tool`, resolved after all interceptors.
   * @internal
   */
  readonly target?: CallTarget | undefined;
  /**
   * How often the request may still be sent to this server.
   * @internal
   */
  readonly resends?: Resends | undefined;
  /** Time left for checking arguments and results; both share it. */
  readonly budget: { leftMs: number };
  /**
   * The outcome of an earlier check of the same arguments.
   * @internal
   */
  readonly checked?: CheckedArguments | undefined;
  /**
   * Called with the call as it is sent: before the first attempt, and again for every fallback server.
   * @internal
   */
  readonly onSent?: ((sent: ToolCall, repaired: readonly ArgumentRepair[] | undefined) => void) | undefined;
}

/** Answers a call, or throws a `ToolportError`. */
export type CallHandler = (call: ToolCall) => Promise<ToolResult>;

/**
 * A step around every call.
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

/** What a call ends with inside the pipeline. */
export interface CallAnswer {
  readonly result: ToolResult;
  /** The result as the server sent it. Undefined if none did, as for a result from a cache. */
  readonly received?: Fields | undefined;
  /** The server has not answered yet: it asks for input, or has begun a task. Results of this kind are not checked. */
  readonly isOpen?: boolean | undefined;
  /** Why the call waits for a person. Not in the result, which a server could forge and an interceptor could replace. */
  readonly pause?: Pause | undefined;
}

/** A step of the pipeline: calls `next`, or answers itself. */
export type CallStep<Call = ToolCall> = (
  next: (call: Call) => Promise<CallAnswer>,
) => (call: Call) => Promise<CallAnswer>;

/** What a call needs to know about the server it is sent to, resolved once for each server. */
export interface CallTarget {
  readonly connection: ServerConnection;
  readonly config: ServerConfig;
  /** The session when the target was resolved. A later session may have listed the tool differently. */
  readonly session: Session | undefined;
  /** The tool as the server listed it, before any mapper; undefined if the catalog does not contain it. */
  readonly source: SourceTool | undefined;
  /** Checks arguments and results: the server's own validator, or that of the port. */
  readonly validator: SchemaValidator;
  /** `trustAnnotations` is set for the server, and for the server that defined the tool if that is another one. */
  readonly isTrusted: boolean;
  /** Undefined if the port has no circuit breaker. */
  readonly breaker: Breaker | undefined;
  readonly guards: ServerGuards;
}

/** State that all calls to one server share. */
export interface ServerGuards {
  breaker: Breaker | undefined;
  readonly limiter: Limiter | undefined;
  /** Created at the first retry: until then the budget is full. */
  retryBudget: TokenBucket | undefined;
}

/** A call whose server is resolved. */
export type ResolvedCall = ToolCall & { readonly target: CallTarget };

export type ResolvedHandler = (call: ResolvedCall) => Promise<CallAnswer>;

/** A step that runs once for each server. */
export type ServerStep = CallStep<ResolvedCall>;

/** Checks the arguments of a call for its current server. Throws `INVALID_ARGUMENTS`. Undefined if they are sent unchanged. */
export type ArgumentCheck = (call: ResolvedCall) => Promise<SentArguments | undefined>;

/** A later round belongs to the server that asked for the input, and must not be sent twice. */
export const continuesRound = (call: ToolCall): boolean =>
  call.suspension?.input !== undefined ||
  call.round?.requestState !== undefined ||
  call.round?.inputResponses !== undefined;

/** The arguments of a call together with the values that interceptors and options add. */
export const withAdded = ({ args, added }: Pick<ToolCall, "args" | "added">): ToolCall["args"] =>
  added === undefined ? args : { ...args, ...added };
