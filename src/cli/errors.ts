/** Errors of the command line itself, the exit codes of all errors, and the end by a signal. */
import { AuthError } from "../errors/auth-error.js";
import { ConfigError } from "../errors/config-error.js";
import { ConnectionError } from "../errors/connection-error.js";
import { ToolCallError, type ToolCallErrorCode } from "../errors/tool-call-error.js";
import { ToolportError } from "../errors/toolport-error.js";

type ErrorDetails = Partial<Pick<CliError, "code" | "exitCode" | "server" | "tool" | "issues">>;

export class CliError extends Error {
  override readonly name = "CliError";
  readonly code: string;
  readonly exitCode: number;
  /** The server and tool that the error concerns. */
  readonly server: string | undefined;
  readonly tool: string | undefined;
  /** Each problem found in what the user gave. */
  readonly issues: readonly unknown[] | undefined;

  /** @param next a complete command line to try */
  constructor(
    message: string,
    readonly next?: string | undefined,
    { code = "USAGE", exitCode = 1, server, tool, issues }: ErrorDetails = {},
  ) {
    super(message);
    this.code = code;
    this.exitCode = exitCode;
    this.server = server;
    this.tool = tool;
    this.issues = issues;
  }
}

export const EXIT = {
  ok: 0,
  /** Wrong usage, and errors without a code of their own. */
  other: 1,
  configuration: 2,
  authorization: 3,
  unreachable: 4,
  /** The tool ran and reported an error. */
  toolError: 5,
  /** The call waits for a person. */
  suspended: 6,
} as const;

const NO_ANSWER: readonly ToolCallErrorCode[] = ["TIMEOUT", "FALLBACK_EXHAUSTED"];

/** Maps an error to an exit code. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof CliError) return error.exitCode;
  if (error instanceof ConfigError) return EXIT.configuration;
  if (error instanceof AuthError) return EXIT.authorization;
  if (error instanceof ConnectionError) return EXIT.unreachable;
  if (error instanceof ToolCallError && NO_ANSWER.includes(error.code)) return EXIT.unreachable;
  // An aggregate error has the exit code of its first error.
  const [first] = ToolportError.isInstance(error) ? error.errors : [];
  return first === undefined ? EXIT.other : exitCodeOf(first);
}

/** The command was interrupted by a signal. No error message is printed. */
export class Interruption extends CliError {
  constructor(exitCode: number) {
    super("Interrupted", undefined, { code: "INTERRUPTED", exitCode });
  }
}

const SIGNALS = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;

export type SignalName = keyof typeof SIGNALS;

/** The process, or a test double. */
export interface SignalSource {
  on(name: SignalName, listener: () => void): unknown;
  off(name: SignalName, listener: () => void): unknown;
}

export interface SignalWatch {
  /** Its reason is an {@link Interruption}. */
  readonly signal: AbortSignal;
  /** Ends the command as the signal would. A number is the exit code. */
  end(by: SignalName | number): void;
  stop(): void;
}

/** @param onSecond called for every signal after the first */
export function watchSignals(source: SignalSource, onSecond: (exitCode: number) => void): SignalWatch {
  const controller = new AbortController();
  const end = (by: SignalName | number) => {
    const exitCode = typeof by === "number" ? by : SIGNALS[by];
    if (controller.signal.aborted) {
      if (typeof by !== "number") onSecond(exitCode);
    } else controller.abort(new Interruption(exitCode));
  };
  const names = Object.keys(SIGNALS) as SignalName[];
  const listeners = names.map((name) => [name, () => end(name)] as const);
  for (const [name, listener] of listeners) source.on(name, listener);
  return {
    signal: controller.signal,
    end,
    stop() {
      for (const [name, listener] of listeners) source.off(name, listener);
    },
  };
}
