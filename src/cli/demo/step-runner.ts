/** Runs the steps of the demo in order, prints each with its duration, and records the results. */
import { stripVTControlCharacters, styleText } from "node:util";
import type { CommandContext, Streams } from "../command.js";

/** Text styles. */
export type Look = "good" | "bad" | "busy" | "quiet" | "title";

const FORMATS = { good: "green", bad: "red", busy: "cyan", quiet: "gray", title: "bold" } as const;

export interface Screen {
  /** Colours the text if colours are supported. */
  paint(look: Look, text: string): string;
  /** Replaces the lines drawn last. Draws nothing without a terminal. */
  draw(lines: readonly string[]): void;
  /** Replaces the lines drawn last by permanent lines. */
  print(lines: readonly string[]): void;
}

/** Prints nothing, for `--json`. */
export const silentScreen: Screen = { paint: (_look, text) => text, draw() {}, print() {} };

export function createScreen(stream: Streams["stdout"], env: CommandContext["env"]): Screen {
  const isTerminal = stream.isTTY === true && env["TERM"] !== "dumb";
  const hasColour = isTerminal && !env["NO_COLOR"];
  let drawn = 0;

  /** Moves the cursor up and clears the lines drawn last. */
  const erase = (): string => (drawn === 0 ? "" : `\u001b[${drawn}A\u001b[0J`);
  const joined = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join("");

  return {
    paint: (look, text) => (hasColour ? styleText(FORMATS[look], text) : text),
    draw(lines) {
      if (!isTerminal) return;
      // Shorten lines to the width: wrapped lines would break the next erase.
      const fitting = lines.map((line) => shorten(line, stream.columns || 80));
      stream.write(erase() + joined(fitting));
      drawn = fitting.length;
    },
    print(lines) {
      stream.write(erase() + joined(lines));
      drawn = 0;
    },
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

/** The return value of a step. */
export interface StepOutcome<Value = never> {
  readonly value?: Value | undefined;
  readonly details: readonly string[];
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
      this.screen.print([this.screen.paint("bad", errorText(error))]);
    }
    this.pausedMs += performance.now() - startedAt;
  }

  /** Runs a step. Resolves with undefined if it failed or has no value. Never rejects. */
  async run<Value>(
    id: string,
    title: string,
    run: (show: ShowProgress) => Promise<StepOutcome<Value>>,
  ): Promise<Value | undefined> {
    const startedAt = performance.now();
    const show: ShowProgress = (lines) =>
      this.screen.draw([this.screen.paint("busy", `… ${title}`), ...indent(lines)]);
    show([]);
    try {
      const { value, details } = await run(show);
      this.#report({ id, title, ok: true, ms: since(startedAt), details });
      return value;
    } catch (error) {
      this.#report({ id, title, ok: false, ms: since(startedAt), details: [], error: errorText(error) });
      return undefined;
    }
  }

  #report(report: StepReport): void {
    this.reports.push(report);
    const { ok, title, ms, details, error } = report;
    const { paint } = this.screen;
    const mark = ok ? paint("good", "✔") : paint("bad", "✘");
    const time = paint("quiet", `${ms} ms`);
    const complaint = error === undefined ? [] : error.split("\n").map((line) => paint("bad", line));
    this.screen.print([`${mark} ${title}  ${time}`, ...indent([...details, ...complaint]), ""]);
  }
}

const indent = (lines: readonly string[]): string[] =>
  lines.map((line) => (line === "" ? "" : `    ${line}`));

const errorText = (error: unknown): string => (error instanceof Error ? error.message : String(error));

const since = (startedAt: number): number => Math.round(performance.now() - startedAt);
