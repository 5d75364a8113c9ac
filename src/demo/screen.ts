/** Where the demo writes: a stream that may be a terminal, whose last lines can then be drawn again in place. */
import { stripVTControlCharacters, styleText } from "node:util";

/** Looks the demo knows. */
export type Look = "good" | "bad" | "busy" | "quiet" | "title";

const FORMATS = { good: "green", bad: "red", busy: "cyan", quiet: "gray", title: "bold" } as const;

export interface Screen {
  /** The text in colour where there is colour. */
  paint(look: Look, text: string): string;
  /** Draws lines in place of those drawn last. Without a terminal nothing is drawn before it is final. */
  draw(lines: readonly string[]): void;
  /** Writes lines that stay, in place of those drawn last. */
  print(lines: readonly string[]): void;
}

/** Says nothing: for programs that read the result. */
export const silentScreen: Screen = { paint: (_look, text) => text, draw() {}, print() {} };

export function createScreen(stream: NodeJS.WriteStream, env: NodeJS.ProcessEnv = process.env): Screen {
  const isTerminal = stream.isTTY === true && env["TERM"] !== "dumb";
  const hasColour = isTerminal && !env["NO_COLOR"];
  let drawn = 0;

  /** Moves up over what was drawn last and clears it. */
  const erase = (): string => (drawn === 0 ? "" : `\u001b[${drawn}A\u001b[0J`);
  const joined = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join("");

  return {
    paint: (look, text) => (hasColour ? styleText(FORMATS[look], text) : text),
    draw(lines) {
      if (!isTerminal) return;
      // A line that wraps would make the next erase miss its mark.
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
