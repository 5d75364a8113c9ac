/** Options of the form `name=value`. */
import { CliError } from "../cli-error.js";

interface PairForm {
  readonly mark: "=" | ":";
  readonly option: string;
  readonly example: string;
}

/** Undefined if there are none. The message of the error does not repeat a value: it may be a secret. */
export function readPairs(
  texts: readonly string[],
  { mark, option, example }: PairForm,
): Record<string, string> | undefined {
  if (texts.length === 0) return undefined;
  const pairs = texts.map((text) => {
    const at = text.indexOf(mark);
    if (at < 1)
      throw new CliError({
        message: `${option} takes a name, ${JSON.stringify(mark)} and a value: ${option} ${example}`,
        next: "toolport add --help",
      });
    const value = text.slice(at + 1);
    return [text.slice(0, at).trim(), mark === ":" ? value.trim() : value] as const;
  });
  return Object.fromEntries(pairs);
}
