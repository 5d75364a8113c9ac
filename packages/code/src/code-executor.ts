/** Runs programs apart from the host: the interface between code mode and the engine that runs the code. */

/** The limits that an executor enforces. The host enforces the one on time. */
export interface ExecutorLimits {
  /** Number of calls. The host refuses more as well, but a program that makes thousands would keep it busy. */
  readonly calls: number;
  readonly cpuMs: number;
  readonly memoryBytes: number;
  readonly outputBytes: number;
  readonly resultBytes: number;
}

/** A program to start, or an image of one to continue. */
export interface CodeProgram {
  /** The body of an async function, in JavaScript or TypeScript. */
  readonly source: string;
  /** Members of the object `tools`: the functions of each server, by their names in programs. */
  readonly tools: Readonly<Record<string, readonly string[]>>;
  readonly limits: ExecutorLimits;
  /** For whom the program runs. Owners share the threads evenly. @default all programs have one owner */
  readonly owner?: string | undefined;
  /** Continue this image; made by `snapshot()` of an executor of the same kind. @default undefined: a new program */
  readonly image?: Uint8Array | undefined;
  /** Processor time that earlier parts of the program used. @default 0 */
  readonly usedCpuMs?: number | undefined;
}

/** A call of a program. Executors number the calls from 1; an image continues to count. */
export interface ProgramCall {
  readonly id: number;
  /** Name of the server in programs. */
  readonly server: string;
  /** Name of the function in programs. */
  readonly tool: string;
  /** The first argument as JSON; `undefined` for none. */
  readonly args: string | undefined;
  /** Line of the call in the program, if known. */
  readonly line?: number | undefined;
}

/** The answer to a call: a value as JSON, or an error that is thrown in the program. */
export type ProgramAnswer =
  | { readonly value: string }
  | { readonly error: { readonly name: string; readonly code: string; readonly message: string } };

/** How a program ended. */
export type ProgramEnd =
  | { readonly value: string | undefined; readonly cpuMs: number }
  | {
      readonly error: {
        readonly code:
          | "SYNTAX"
          | "THROWN"
          | "CPU_LIMIT"
          | "MEMORY_LIMIT"
          | "RESULT_TOO_LARGE"
          | "STUCK"
          | "OVERLOADED"
          | "CRASHED"
          | "STOPPED";
        /** For example `TypeError`. */
        readonly name: string;
        readonly message: string;
        readonly line?: number | undefined;
        readonly column?: number | undefined;
        /** Set if an error of a call ended the program: its `code`. */
        readonly thrownCode?: string | undefined;
        /** Set if the program ended because it used a server or a function that `tools` does not have. */
        readonly missing?: { readonly server: string; readonly tool?: string | undefined } | undefined;
      };
      readonly cpuMs: number;
    };

/** What an executor reports to the host. */
export interface ProgramHost {
  /** The program calls a tool. The host answers with `answer()`, later. */
  onCall(call: ProgramCall): void;
  /** A line of `console`. */
  onLog(text: string): void;
  /** The program has nothing left to do until one of these calls is answered. */
  onWait(pending: readonly number[]): void;
}

/** A running program. */
export interface ProgramRun {
  /** Resolves once, and never rejects. */
  readonly ended: Promise<ProgramEnd>;
  /** May resolve when the program has taken the answer: until then, the call counts for `limits.parallel`. */
  answer(id: number, answer: ProgramAnswer): void | Promise<void>;
  /** Ends the program at once. Resolves when nothing of it is left. */
  stop(): Promise<void>;
  /** Ends a waiting program and returns its image. Undefined if the executor cannot do that; then calls cannot be suspended. */
  snapshot?(): Promise<{ readonly image: Uint8Array; readonly cpuMs: number }>;
}

/**
 * Runs programs. Give your own to `createCodeMode` where there are no worker threads. It must keep programs away from the thread and
 * the data of the host.
 */
export interface CodeExecutor {
  /** Changes whenever images of another version cannot be continued. @default "" */
  readonly version?: string | undefined;
  start(program: CodeProgram, host: ProgramHost): ProgramRun;
  close?(): Promise<void>;
}

/** The error that ends a program. */
export type EndError = Extract<ProgramEnd, { error: unknown }>["error"];

export const endError = (code: EndError["code"], message: string, name = "Error"): EndError => ({
  code,
  name,
  message,
});

export const memoryLimit = (): EndError =>
  endError("MEMORY_LIMIT", "The program needs more memory than it may use", "InternalError");

export const cpuLimit = (cpuMs: number): EndError =>
  endError("CPU_LIMIT", `The program computed for more than ${cpuMs} ms`);

export const stopped = (): EndError => endError("STOPPED", "The program was stopped");

/** For a result of a call that the program cannot hold. */
export const tooLarge = (characters: number): ProgramAnswer => ({
  error: {
    name: "ToolError",
    code: "MEMORY_LIMIT",
    message: `The result of ${characters} characters does not fit into the memory of the program.`,
  },
});
