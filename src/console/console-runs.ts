/** Tool calls and programs that were started in the page, and how to cancel them. */

/** Passed as `context` of a call, so that its events can be recognized. */
export class ConsoleRun {
  readonly controller = new AbortController();
  /** Chosen by the page. */
  readonly id: string;

  constructor(id: string) {
    this.id = id;
  }
}

/** What the caller of a cancelled call learns. */
export const CANCELLED = "The user cancelled the call in the console";

export class ConsoleRuns {
  readonly #runs = new Map<string, ConsoleRun>();

  /** Runs a call. It is aborted by `cancel`, or with `signal`. */
  async run<Result>(
    id: string,
    signal: AbortSignal,
    call: (run: ConsoleRun) => Promise<Result>,
  ): Promise<Result> {
    const run = new ConsoleRun(id);
    const stop = () => run.controller.abort(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
    this.#runs.set(id, run);
    try {
      return await call(run);
    } finally {
      signal.removeEventListener("abort", stop);
      if (this.#runs.get(id) === run) this.#runs.delete(id);
    }
  }

  /** Returns false if the call has ended. */
  cancel(id: string): boolean {
    const run = this.#runs.get(id);
    run?.controller.abort(new Error(CANCELLED));
    return run !== undefined;
  }

  close(): void {
    for (const { controller } of this.#runs.values()) controller.abort(new Error("The console was closed"));
    this.#runs.clear();
  }
}
