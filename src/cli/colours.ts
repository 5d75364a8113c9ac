/** Colours, where somebody can see them and wants to. */
import { styleText } from "node:util";

export type Colour = "red" | "green" | "yellow" | "blue" | "cyan" | "dim" | "bold";

export type Paint = (colour: Colour, text: string) => string;

interface Seen {
  readonly isTerminal: boolean;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** `--no-color` was given. */
  readonly isPlain: boolean;
}

/** `NO_COLOR` and `FORCE_COLOR` as everywhere; else colours on a terminal only. */
export function choosePaint({ isTerminal, env, isPlain }: Seen): Paint {
  const isForced = env["FORCE_COLOR"] !== undefined && env["FORCE_COLOR"] !== "0";
  const isWanted = isForced || (isTerminal && (env["NO_COLOR"] ?? "") === "" && env["TERM"] !== "dumb");
  if (isPlain || !isWanted) return (_, text) => text;
  // Whether to paint is decided here; the stream that Node would ask need not be the one that is written to.
  return (colour, text) => styleText(colour, text, { validateStream: false });
}
