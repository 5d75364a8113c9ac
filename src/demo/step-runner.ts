/** Runs the steps of the demo in order, prints each with its duration, and records the results. */
import type { Screen } from "./screen.js";

/** The result of one step, as `--json` prints it. */
export interface StepReport {
  readonly id: string;
  readonly title: string;
  readonly ok: boolean;
  readonly ms: number;
  /** Observations, one line each. */
  readonly details: readonly string[];
  readonly error?: string | undefined;
}

/** The return value of a step. */
export interface StepOutcome<Value> {
  readonly value?: Value | undefined;
  readonly details: readonly string[];
}

/** Shows lines under the step's title while it runs. */
export type ShowProgress = (lines: readonly string[]) => void;

export interface Step<Value> {
  readonly id: string;
  readonly title: string;
  run(show: ShowProgress): Promise<StepOutcome<Value>>;
}

/** Fails the step that calls it. */
export function check(condition: boolean, message: string): asserts condition {
  if (!condition) throw new Error(message);
}

export class StepRunner {
  readonly reports: StepReport[] = [];
  /** Time spent waiting for the user. */
  pausedMs = 0;
  readonly #screen: Screen;

  constructor(screen: Screen) {
    this.#screen = screen;
  }

  /** Waits for the user, without counting the time. Never rejects; prints the error instead. */
  async pause(run: () => Promise<void> | undefined): Promise<void> {
    const startedAt = performance.now();
    try {
      await run();
    } catch (error) {
      this.#screen.print([this.#screen.paint("bad", error instanceof Error ? error.message : String(error))]);
    }
    this.pausedMs += performance.now() - startedAt;
  }

  /** Runs a step. Resolves with undefined if it failed or has no value. Never rejects. */
  async run<Value>({ id, title, run }: Step<Value>): Promise<Value | undefined> {
    const startedAt = performance.now();
    const show: ShowProgress = (lines) =>
      this.#screen.draw([this.#screen.paint("busy", `… ${title}`), ...indent(lines)]);
    show([]);
    try {
      const { value, details } = await run(show);
      this.#report({ id, title, ok: true, ms: since(startedAt), details });
      return value;
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      this.#report({ id, title, ok: false, ms: since(startedAt), details: [], error: message });
      return undefined;
    }
  }

  #report(report: StepReport): void {
    this.reports.push(report);
    const { ok, title, ms, details, error } = report;
    const { paint } = this.#screen;
    const mark = ok ? paint("good", "✔") : paint("bad", "✘");
    const time = paint("quiet", `${ms} ms`);
    const complaint = error === undefined ? [] : error.split("\n").map((line) => paint("bad", line));
    this.#screen.print([`${mark} ${title}  ${time}`, ...indent([...details, ...complaint]), ""]);
  }
}

const indent = (lines: readonly string[]): string[] =>
  lines.map((line) => (line === "" ? "" : `    ${line}`));

const since = (startedAt: number): number => Math.round(performance.now() - startedAt);
