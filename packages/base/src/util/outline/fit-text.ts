/** Shortens a text to a number of bytes: JSON between items, other text between lines, never inside a character. */
import { utf8Length } from "../text.js";
import type { Outline } from "./outline-text.js";

/** What fits. */
export interface FittedText {
  readonly text: string;
  /** What the text shows, such as `items 0 to 2 of 1300`; undefined if it is everything. */
  readonly shown: string | undefined;
  /** The first part that is not shown. */
  readonly next: number;
}

/** Of the bytes for lines, the share of the first ones; the rest is for the last ones. */
const HEAD_SHARE = 0.8;
/** With fewer bytes only the start is shown. */
const SMALLEST_WITH_TAIL = 400;
/** For the line between the first and the last lines. */
const GAP_BYTES = 60;

/** The text as it is if it fits, as compact JSON if that fits, or else a part of it. */
export function fitOutline(outline: Outline, bytes: number): FittedText {
  const { json, unit, count } = outline;
  const whole = json?.text ?? outline.slice(0, count);
  // A character has at least one byte for each unit.
  if (whole.length <= bytes && utf8Length(whole) <= bytes)
    return { text: whole, shown: undefined, next: count };
  const fitted = unit === "lines" ? fitLines(outline, bytes) : fitItems(outline, bytes);
  return fitted ?? cutFirst(outline, bytes);
}

/** The start of the first part, which alone is too large. */
function cutFirst(outline: Outline, bytes: number): FittedText {
  const text = headWithin(outline.slice(0, 1), bytes);
  if (outline.unit === "lines" && outline.count === 1) return { text, shown: "the start", next: 0 };
  return {
    text,
    shown: `the start of ${nameOfParts(outline)[0]} 0 of ${outline.count}${placeOf(outline)}`,
    next: 0,
  };
}

function fitItems(outline: Outline, bytes: number): FittedText | undefined {
  const [opening, closing] = outline.unit === "items" ? ["[", "]"] : ["{", "}"];
  const around = utf8Length(outline.before) + utf8Length(outline.after);
  const isWhole = around <= bytes / 2;
  const count = countWithin(outline, bytes - (isWhole ? around : 2));
  if (count === 0) return undefined;
  const items = outline.slice(0, count);
  return {
    text: isWhole ? outline.before + items + outline.after : opening + items + closing,
    shown: shownRange(outline, 0, count),
    next: count,
  };
}

function fitLines(outline: Outline, bytes: number): FittedText | undefined {
  const hasTail = bytes >= SMALLEST_WITH_TAIL && outline.count > 1;
  const forText = hasTail ? bytes - GAP_BYTES : bytes;
  const headBytes = hasTail ? Math.floor(forText * HEAD_SHARE) : forText;
  const count = countWithin(outline, headBytes);
  if (count === 0) return undefined;
  const head = outline.slice(0, count);
  const last = hasTail ? tailWithin(outline, forText - utf8Length(head), count) : outline.count;
  const shown = shownRange(outline, 0, count);
  if (last >= outline.count) return { text: head, shown, next: count };
  const gap = `[${last - count} lines are not shown here]`;
  const text = `${head}\n${gap}\n${outline.slice(last, outline.count)}`;
  return { text, shown: `${shown}, and the last ${outline.count - last}`, next: count };
}

/** How many parts from the start fit. */
function countWithin(outline: Outline, bytes: number, from = 0): number {
  let left = bytes;
  let index = from;
  for (; index < outline.count; index += 1) {
    left -= utf8Length(outline.slice(index, index + 1)) + (index === from ? 0 : 1);
    if (left < 0) break;
  }
  return index - from;
}

/** The first of the last parts that fit. */
function tailWithin(outline: Outline, bytes: number, from: number): number {
  let left = bytes;
  let index = outline.count;
  for (; index > from; index -= 1) {
    left -= utf8Length(outline.slice(index - 1, index)) + 1;
    if (left < 0) break;
  }
  return index;
}

/** The start of a text, at most `bytes` in UTF-8, without splitting a character. */
export function headWithin(text: string, bytes: number): string {
  if (bytes < 1) return "";
  // No more than this can be read, so a huge text is not copied.
  const start = text.slice(0, bytes);
  const { read } = new TextEncoder().encodeInto(start, new Uint8Array(bytes));
  // The slice may have ended inside a character.
  const isSplit = isHigh(text.charCodeAt(read - 1)) && isLow(text.charCodeAt(read));
  return start.slice(0, isSplit ? read - 1 : read);
}

/** The first and the second half of a character that has two units. */
const isHigh = (unit: number): boolean => unit >= 0xd800 && unit < 0xdc00;
const isLow = (unit: number): boolean => unit >= 0xdc00 && unit < 0xe000;

/** Words for one part, and for several. */
export function nameOfParts({ unit }: Pick<Outline, "unit">): readonly [one: string, many: string] {
  if (unit === "lines") return ["line", "lines"];
  return unit === "items" ? ["item", "items"] : ["entry", "entries"];
}

export const placeOf = ({ path }: Pick<Outline, "path">): string => (path === "" ? "" : ` of ${path}`);

/** Such as `items 0 to 2 of 1300 of data.issues`. @param to the first that is not shown */
export function shownRange(outline: Outline, from: number, to: number): string {
  const [one, many] = nameOfParts(outline);
  const which = to - from === 1 ? `${one} ${from}` : `${many} ${from} to ${to - 1}`;
  return `${which} of ${outline.count}${placeOf(outline)}`;
}
