/** Runs the steps of the demo in order, prints each with its duration, and records the results. */
import type { CommandContext } from "../command.js";

/** The result of one step, as `--json` prints it. */
interface StepReport {
  readonly id: string;
  readonly title: string;
  readonly ok: boolean;
  readonly ms: number;
  /** Observations, one line each. */
  readonly details: readonly string[];
  readonly error?: string | undefined;
}

/** Fails the step that calls it. */
export function check(condition: boolean, message: string): asserts condition {
  if (!condition) throw new Error(message);
}

export class StepRunner {
  readonly reports: StepReport[] = [];

  constructor(readonly context: CommandContext) {}

  /** Prints nothing with `--json`. */
  print(lines: readonly string[]): void {
    if (this.context.form !== "json") this.context.printPainted(lines);
  }

  /** Runs a step, which returns its details. Never rejects. */
  async run(id: string, title: string, run: () => Promise<readonly string[]>): Promise<void> {
    const { paint, progress } = this.context;
    const startedAt = performance.now();
    let details: readonly string[] = [];
    let error: string | undefined;
    try {
      details = await progress(title, run);
    } catch (thrown) {
      error = thrown instanceof Error ? thrown.message : String(thrown);
    }
    const ok = error === undefined;
    const ms = Math.round(performance.now() - startedAt);
    this.reports.push({ id, title, ok, ms, details, error });
    const mark = ok ? paint("green", "✔") : paint("red", "✘");
    const complaint = error?.split("\n").map((line) => paint("red", line)) ?? [];
    const lines = [...details, ...complaint].map((line) => (line === "" ? "" : `    ${line}`));
    this.print([`${mark} ${title}  ${paint("dim", `${ms} ms`)}`, ...lines, ""]);
  }
}
