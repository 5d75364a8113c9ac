/** The public interface of code mode: the model writes a program, and the program calls the tools. */

import type { ToolInfo } from "@toolport/base";
import type {
  CallToolOptions,
  ResumeInput,
  ResumeOptions,
  SuspendCallOptions,
  Suspended,
  Toolport,
  ToolResult,
  ToolsOptions,
} from "@toolport/core";
import type { CodeExecutor } from "./code-executor.js";

/** What code mode uses of a Toolport. Without `resume`, no program can wait for a person. */
export type CodeTools = Pick<Toolport, "tools" | "searchTools" | "callTool"> &
  Partial<Pick<Toolport, "resume">>;

/** What one program may use. */
export interface CodeLimits {
  /** Processor time of the program itself, without the time of its calls. @default 2000 */
  readonly cpuMs?: number | undefined;
  /** Time from start to end, waiting for calls included. The time that a suspended program sleeps does not count. @default 60000 */
  readonly timeMs?: number | undefined;
  /** Memory of the program. @default 67108864 (64 MiB) */
  readonly memoryBytes?: number | undefined;
  /** Number of calls. @default 100 */
  readonly calls?: number | undefined;
  /** Calls at the same time, until the program has their results; more wait for their turn. @default 16 */
  readonly parallel?: number | undefined;
  /** Text that `console` keeps; the rest is counted and left out. @default 64000 */
  readonly outputBytes?: number | undefined;
  /** Size of the value that the program returns, as JSON. @default 256000 */
  readonly resultBytes?: number | undefined;
}

/** What all programs of a code mode, or of a gateway, may use together. */
export interface CodeCapacity {
  /**
   * Programs that run at the same time, each in a thread. A program that waits for its calls leaves its thread to others that want one,
   * and the users of a gateway share the threads evenly.
   * @default the number of processor cores + 2
   */
  readonly threads?: number | undefined;
  /**
   * Memory of the programs that run: their `limits.memoryBytes` together. Programs that wait without a thread may take half as much again,
   * and so may results that wait for their programs: beyond that, the program with most results ends with `MEMORY_LIMIT`.
   * @default `threads` × 64 MiB
   */
  readonly memoryBytes?: number | undefined;
  /** Programs that may wait for their first thread. More end with `OVERLOADED`. @default 1000 */
  readonly waiting?: number | undefined;
}

/** Options of {@link createCodeMode}. */
export interface CodeModeOptions extends Pick<ToolsOptions, "only" | "except" | "filter"> {
  /**
   * How the model learns the tools: `"search"` offers a tool that searches; `"declare"` puts all declarations into the description of
   * `execute` as long as they have at most `declareTokens`, and searches otherwise.
   * @default "search"
   */
  readonly discovery?: "search" | "declare" | undefined;
  /** Most tokens of declarations that `discovery: "declare"` puts into the description. @default 4000 */
  readonly declareTokens?: number | undefined;
  readonly limits?: CodeLimits | undefined;
  /** Not used with an `executor` of your own. */
  readonly capacity?: CodeCapacity | undefined;
  /**
   * Runs the programs in place of Toolport's worker threads, for runtimes that have none.
   * @default worker threads of Node with `quickjs-wasi`
   */
  readonly executor?: CodeExecutor | undefined;
  /** How long an unused worker is kept ready for the next program. @default 30000 */
  readonly idleTimeoutMs?: number | undefined;
}

/** One call that a program made. */
export interface CodeCall {
  /** Public name of the tool. */
  readonly tool: string;
  readonly ok: boolean;
  /** What is known about a call that failed. @default undefined: the call succeeded, or the tool itself reported the failure */
  readonly outcome?: "unsent" | "unknown" | undefined;
  /** Code of the error. */
  readonly code?: string | undefined;
  readonly durationMs: number;
}

interface CodeReport {
  /** Lines of `console`, cut at `outputBytes`. */
  readonly logs: readonly string[];
  /** Every call that was made, in the order of their start. */
  readonly calls: readonly CodeCall[];
  /** Processor time of the program. */
  readonly cpuMs: number;
}

/** The program ended with a value. */
export interface CodeValue<Value = unknown> extends CodeReport {
  readonly value: Value;
  readonly error?: undefined;
  readonly suspended?: undefined;
}

/** Why a program failed. */
export type CodeErrorCode =
  | "SYNTAX"
  | "THROWN"
  | "CPU_LIMIT"
  | "TIME_LIMIT"
  | "MEMORY_LIMIT"
  | "CALL_LIMIT"
  | "RESULT_TOO_LARGE"
  | "STUCK"
  | "OVERLOADED"
  | "CRASHED";

/** The program failed. `message` is made for the model that wrote it. */
export interface CodeFailure extends CodeReport {
  readonly error: {
    readonly code: CodeErrorCode;
    /** Everything that the model needs: what failed, line and column, the line itself, what exists instead, what had run. */
    readonly message: string;
    /** Code of the call's error, if an error of a call ended the program. */
    readonly toolCode?: string | undefined;
    /** Line in the program, from 1. */
    readonly line?: number | undefined;
    /** Column in the program, from 1. */
    readonly column?: number | undefined;
  };
  readonly value?: undefined;
  readonly suspended?: undefined;
}

/** The program waits for a person. Resume it with its `token`. */
export type CodeSuspended = Suspended &
  CodeReport & { readonly value?: undefined; readonly error?: undefined };

/** How a program ended: with a value, with an error, or saved until a person has answered. */
export type CodeOutcome<Value = unknown> = CodeValue<Value> | CodeFailure | CodeSuspended;

/** Options of `execute()`. */
export interface ExecuteOptions
  extends Pick<CallToolOptions, "signal" | "onProgress" | "context" | "headers"> {
  /** Save the program if one of its calls has to wait for a person. @default false: such a call fails in the program */
  readonly suspend?: SuspendCallOptions["suspend"] | undefined;
  /** Limits of this run, on top of those of the code mode. */
  readonly limits?: CodeLimits | undefined;
}

/** Programs of a model that call tools. Created by {@link createCodeMode}. Every adapter takes it in place of a Toolport. */
export interface CodeMode extends AsyncDisposable {
  /** The tools for the model: `search` and `execute`, or only `execute` if its description declares all tools. */
  tools(options?: ToolsOptions): Promise<ToolInfo[]>;
  /** Declarations of the tools that match the words of the query best, as the model sees them. */
  describe(query: string, options?: { limit?: number | undefined; signal?: AbortSignal }): Promise<string>;
  /**
   * Runs a program: the body of an async function, in JavaScript or TypeScript. A program that fails is a result with `error`.
   * Throws only on abort, wrong options, and after `close()`.
   */
  execute<Value = unknown>(source: string, options?: ExecuteOptions): Promise<CodeOutcome<Value>>;
  /** Continues a program that waits for a person, in any process with the same store. No call is made twice. */
  resume<Value = unknown>(
    token: string,
    answer?: ResumeInput,
    options?: ResumeOptions,
  ): Promise<CodeOutcome<Value>>;
  /**
   * Calls `search` or `execute` by name, for adapters. `timeoutMs` is the time limit of the program. Other names throw `TOOL_NOT_FOUND`.
   *
   * @example
   * ```ts
   * const { text } = await code.callTool("execute", { code: "return 6 * 7;" });
   * ```
   */
  callTool(
    name: string,
    args: Readonly<Record<string, unknown>> | undefined,
    options: SuspendCallOptions,
  ): Promise<ToolResult | Suspended>;
  callTool(
    name: string,
    args?: Readonly<Record<string, unknown>>,
    options?: CallToolOptions,
  ): Promise<ToolResult>;
  /** As `resume()`, but returns what the model reads, for adapters. */
  resumeTool(token: string, answer?: ResumeInput, options?: ResumeOptions): Promise<ToolResult | Suspended>;
  /** The programs of this principal that wait for a person, with their tokens. */
  suspended(): Promise<CodeSuspended[]>;
  /** Ends running programs and workers. The Toolport stays open. */
  close(): Promise<void>;
}
