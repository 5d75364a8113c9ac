/** Handles SIGINT, SIGTERM and SIGHUP: the first ends the command cleanly, the second at once. */
import { CliError } from "./cli-error.js";

/** The command was interrupted by a signal. No error message is printed. */
export class Interruption extends CliError {
  constructor(exitCode: number) {
    super({ code: "INTERRUPTED", message: "Interrupted", exitCode });
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
