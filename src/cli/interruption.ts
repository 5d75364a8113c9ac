/** Ctrl-C and its kin: the first ends the command in order, a second one at once. */
import { CliError } from "./cli-error.js";

/** Why a command has to end before it is done. Nothing is said about it: whoever did it knows. */
export class Interruption extends CliError {
  constructor(exitCode: number) {
    super({ code: "INTERRUPTED", message: "Interrupted", exitCode });
  }
}

const SIGNALS = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;

export type SignalName = keyof typeof SIGNALS;

/** Where signals come from: the process, or a test. */
export interface SignalSource {
  on(name: SignalName, listener: () => void): unknown;
  off(name: SignalName, listener: () => void): unknown;
}

export interface SignalWatch {
  /** Its reason is an {@link Interruption}. */
  readonly signal: AbortSignal;
  /** Ends the command as if the signal had come; a number: with this exit code. */
  end(by: SignalName | number): void;
  stop(): void;
}

/** @param onSecond what to do when somebody does not want to wait */
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
