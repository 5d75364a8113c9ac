/** The demo's output. On a terminal, the last lines can be redrawn in place. */
import { stripVTControlCharacters, styleText } from "node:util";

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

export function createScreen(stream: NodeJS.WriteStream, env: NodeJS.ProcessEnv = process.env): Screen {
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
