/** Text from servers on its way to a terminal. */
import { replaceHidden, visibleLine, visibleText } from "../util/visible-text.js";

/** Makes a text of any number of lines safe to print: what is hidden or steers the terminal is spelled out. */
export const plainText = visibleText;

/** Makes a name, an address or a message safe to print where one line is expected. Line breaks are spelled out. */
export const plainLine = visibleLine;

/** A text of several lines under a heading. Lines after the first are indented, so that none can pass for one of ours. */
export const plainBlock = (text: string): string => plainText(text).replace(/\n(?! {2})/g, "\n  ");

/** For lines under a heading. */
export const indented = (text: string): string =>
  text
    .split("\n")
    .map((line) => `  ${line}`)
    .join("\n");

/** Running text on one line, no longer than `width`; any white space becomes one blank. */
export function oneLine(text: string, width = Number.POSITIVE_INFINITY): string {
  const line = plainText(text).replace(/\s+/g, " ").trim();
  return line.length <= width ? line : `${line.slice(0, Math.max(0, width - 1))}…`;
}

/**
 * JSON that is safe to print: what is unsafe stands only inside strings, where it can be spelled out.
 *
 * @param space as for `JSON.stringify`; none: one line
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
