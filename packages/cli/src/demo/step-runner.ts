/** Runs the steps of the demo in order, prints each with its duration, and records the results. */
import { stripVTControlCharacters } from "node:util";
import type { CommandContext } from "../command.js";
import type { Paint } from "../plain-text.js";

export interface Screen {
  readonly paint: Paint;
  /** Replaces the lines drawn last. Draws nothing without a terminal. */
  draw(lines: readonly string[]): void;
  /** Replaces the lines drawn last by permanent lines. Prints nothing with `--json`. */
  print(lines: readonly string[]): void;
}

export function createScreen({ streams: { stdout }, env, form, paint }: CommandContext): Screen {
  const isTerminal = stdout.isTTY === true && env["TERM"] !== "dumb";
  let drawn = 0;
  const write = (lines: readonly string[]) => {
    if (form === "json") return;
    // Moves the cursor up and clears the lines drawn last.
    const erase = drawn === 0 ? "" : `\u001b[${drawn}A\u001b[0J`;
    stdout.write(erase + lines.map((line) => `${line}\n`).join(""));
    drawn = 0;
  };
  return {
    paint,
    draw(lines) {
      if (!isTerminal) return;
      // Shorten lines to the width: wrapped lines would break the next erase.
      write(lines.map((line) => shorten(line, stdout.columns || 80)));
      drawn = lines.length;
    },
    print: write,
  };
}

function shorten(line: string, columns: number): string {
  const plain = stripVTControlCharacters(line);
  return plain.length < columns ? line : `${plain.slice(0, Math.max(0, columns - 2))}…`;
}

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

/** Shows lines under the step's title while it runs. */
export type ShowProgress = (lines: readonly string[]) => void;

/** Fails the step that calls it. */
export function check(condition: boolean, message: string): asserts condition {
  if (!condition) throw new Error(message);
}

export class StepRunner {
  readonly reports: StepReport[] = [];
  /** Time spent waiting for the user. */
  pausedMs = 0;

  constructor(readonly screen: Screen) {}

  /** Waits for the user, without counting the time. Never rejects; prints the error instead. */
  async pause(run: () => Promise<void>): Promise<void> {
    const startedAt = performance.now();
    try {
      await run();
    } catch (error) {
      this.screen.print([this.screen.paint("red", errorText(error))]);
    }
    this.pausedMs += performance.now() - startedAt;
  }

  /** Runs a step, which returns its details. Resolves with whether it passed. Never rejects. */
  async run(
    id: string,
    title: string,
    run: (show: ShowProgress) => Promise<readonly string[]>,
  ): Promise<boolean> {
    const { paint, draw, print } = this.screen;
    const startedAt = performance.now();
    const show: ShowProgress = (lines) => draw([paint("cyan", `… ${title}`), ...indent(lines)]);
    show([]);
    let details: readonly string[] = [];
    let error: string | undefined;
    try {
      details = await run(show);
    } catch (thrown) {
      error = errorText(thrown);
    }
    const ok = error === undefined;
    const ms = Math.round(performance.now() - startedAt);
    this.reports.push({ id, title, ok, ms, details, error });
    const mark = ok ? paint("green", "✔") : paint("red", "✘");
    const complaint = error?.split("\n").map((line) => paint("red", line)) ?? [];
    print([`${mark} ${title}  ${paint("dim", `${ms} ms`)}`, ...indent([...details, ...complaint]), ""]);
    return ok;
  }
}

const indent = (lines: readonly string[]): string[] =>
  lines.map((line) => (line === "" ? "" : `    ${line}`));

const errorText = (error: unknown): string => (error instanceof Error ? error.message : String(error));
