/** A server to add, and the parser of `name=value` options that describe it. */
import { CliError } from "../cli-error.js";
import { type Invocation, textsOption } from "../command.js";

export interface Addition {
  readonly name: string;
  /** The entry for the file, with unexpanded variables. */
  readonly entry: Readonly<Record<string, unknown>>;
  /** The entry to show to the user. */
  readonly shown: unknown;
  /** The user did not write the entry, so has to see it and agree. */
  readonly needsConsent: boolean;
  readonly warnings: readonly string[];
  /** Messages about what was stored. @default none */
  readonly notes?: readonly string[];
}

interface PairForm {
  readonly mark: "=" | ":";
  readonly option: string;
  readonly example: string;
}

/** Undefined if there are none. The error message repeats no value, because it may be a secret. */
export function readPairs(
  texts: readonly string[],
  { mark, option, example }: PairForm,
): Record<string, string> | undefined {
  if (texts.length === 0) return undefined;
  const pairs = texts.map((text) => {
    const at = text.indexOf(mark);
    if (at < 1)
      throw new CliError({
        message: `${option} requires a name, ${JSON.stringify(mark)} and a value: ${option} ${example}`,
        next: "toolport add --help",
      });
    const value = text.slice(at + 1);
    return [text.slice(0, at).trim(), mark === ":" ? value.trim() : value] as const;
  });
  return Object.fromEntries(pairs);
}

/** `--header`. */
export const readHeaders = (invocation: Invocation): Record<string, string> | undefined =>
  readPairs(textsOption(invocation, "header"), { mark: ":", option: "--header", example: "'X-Name: value'" });

/** `--env`. */
export const readEnv = (invocation: Invocation): Record<string, string> | undefined =>
  readPairs(textsOption(invocation, "env"), { mark: "=", option: "--env", example: "NAME=value" });
