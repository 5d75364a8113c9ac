/** Text for the terminal: escaped, on one line, coloured. */

import { styleText } from "node:util";
import { replaceHidden, visibleLine, visibleText } from "@toolport/base";

/** Escapes invisible and control characters. Line breaks and tabs stay. */
export const plainText = visibleText;

/** Escapes a name, a URL or a message that has to fit on one line. Line breaks are escaped, too. */
export const plainLine = visibleLine;

/** Escapes text of several lines. Lines after the first are indented, so that none looks like a line of Toolport. */
export const plainBlock = (text: string): string => plainText(text).replace(/\n(?! {2})/g, "\n  ");

/** Indents every line by two spaces. */
export const indented = (text: string): string =>
  text
    .split("\n")
    .map((line) => `  ${line}`)
    .join("\n");

/** Puts text on one line of at most `width` characters. Each run of white space becomes one space. */
export function oneLine(text: string, width = Number.POSITIVE_INFINITY): string {
  const line = plainText(text).replace(/\s+/g, " ").trim();
  return line.length <= width ? line : `${line.slice(0, Math.max(0, width - 1))}…`;
}

/**
 * JSON with invisible and control characters escaped.
 *
 * @param space as for `JSON.stringify`; without it, the JSON is one line
 */
export function plainJson(value: unknown, space?: number): string {
  return replaceHidden(JSON.stringify(value, undefined, space) ?? "null", escapeUnits).replace(
    /[\u2028\u2029]/g,
    escapeUnits,
  );
}

const escapeUnits = (character: string): string =>
  Array.from({ length: character.length }, (_, index) => character.charCodeAt(index))
    .map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`)
    .join("");

/** A table cell with escaped text; empty for a missing value. */
export const cell = (value: unknown): string =>
  value === undefined || value === null ? "" : plainLine(String(value));

/** `1 tool`, `2 tools`. */
export const plural = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`;

export type Colour = "red" | "green" | "yellow" | "blue" | "cyan" | "dim" | "bold";

export type Paint = (colour: Colour, text: string) => string;

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Honours `NO_COLOR` and `FORCE_COLOR`. By default only terminals get colours.
 *
 * @param isPlain `--no-color` was given
 */
export function choosePaint({ isTTY }: { isTTY?: boolean }, env: Environment, isPlain: boolean): Paint {
  const isForced = env["FORCE_COLOR"] !== undefined && env["FORCE_COLOR"] !== "0";
  const isWanted = isForced || (isTTY === true && (env["NO_COLOR"] ?? "") === "" && env["TERM"] !== "dumb");
  if (isPlain || !isWanted) return (_, text) => text;
  // Node would check stdout, but the text may go to stderr.
  return (colour, text) => styleText(colour, text, { validateStream: false });
}

/** Definitions that take more are worth deferring. `deferTools: { mode: "auto" }` has the same limit. */
export const COSTLY_TOKENS = 10_000;

/** An estimated number of tokens: `~12,345`. */
export const about = (tokens: number): string => `~${tokens.toLocaleString("en")}`;
