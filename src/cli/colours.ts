/** Terminal colours. */
import { styleText } from "node:util";

export type Colour = "red" | "green" | "yellow" | "blue" | "cyan" | "dim" | "bold";

export type Paint = (colour: Colour, text: string) => string;

interface ColourOptions {
  readonly isTerminal: boolean;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** `--no-color` was given. */
  readonly isPlain: boolean;
}

/** Honours `NO_COLOR` and `FORCE_COLOR`. By default only terminals get colours. */
export function choosePaint({ isTerminal, env, isPlain }: ColourOptions): Paint {
  const isForced = env["FORCE_COLOR"] !== undefined && env["FORCE_COLOR"] !== "0";
  const isWanted = isForced || (isTerminal && (env["NO_COLOR"] ?? "") === "" && env["TERM"] !== "dumb");
  if (isPlain || !isWanted) return (_, text) => text;
  // Node would check stdout, but the text may go to stderr.
  return (colour, text) => styleText(colour, text, { validateStream: false });
}
