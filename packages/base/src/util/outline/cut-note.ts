/** The note in front of a text that was cut: size, shape in a few words, what follows, and how to read on. */

import { READ_ARTIFACT_NAME } from "../../model/tool-info.js";
import { tokenCeiling, utf8Length } from "../text.js";
import { type FittedText, fitOutline } from "./fit-text.js";
import type { Outline } from "./outline-text.js";

interface CutFacts {
  readonly outline: Outline;
  readonly fitted: FittedText;
  /** Undefined if the rest cannot be read. */
  readonly id: string | undefined;
  /** Longest description of the shape, in characters. */
  readonly shapeLength?: number | undefined;
}

/** Such as `Shape: { … }. Below: items 0 to 2 of 1300. Read on: read_artifact with {"id":"…","from":3}; …`. */
export function describeCut({ outline, fitted, id, shapeLength }: CutFacts): string {
  const shape = describeShape(outline, shapeLength);
  if (fitted.shown === undefined) return `Shape: ${shape}. Below: everything.`;
  const shown = fitted.text === "" ? "nothing" : fitted.shown;
  return `Shape: ${shape}. Below: ${shown}. ${id === undefined ? NARROWER : readOn(id, fitted.next, outline)}`;
}

/** How to read an artifact. */
export function readOn(id: string, next: number, { unit }: Pick<Outline, "unit">): string {
  const call = JSON.stringify({ id, ...(next > 0 && { from: next }) });
  const how = unit === "lines" ? `"find" searches` : `"find" searches, "fields" picks fields`;
  return `Read on: ${READ_ARTIFACT_NAME} with ${call}; ${how}.`;
}

const NARROWER = "For the rest, call the tool again with narrower arguments, such as a filter or a page.";

/** Whatever the input is, the description is not longer. In characters. */
const MAX_LENGTH = 700;
const MAX_LEVELS = 5;
const MAX_NAMES = 12;
const MAX_NAME = 40;

/**
 * Such as `{ total: number, issues: list of 1300 { id: number, title: text } }`.
 *
 * @param maxLength in characters
 */
export function describeShape({ json, count }: Outline, maxLength = MAX_LENGTH): string {
  if (json === undefined) return count === 1 ? "text of 1 line" : `text of ${count} lines`;
  // With fewer names and levels until it fits.
  for (let levels = MAX_LEVELS, names = MAX_NAMES; levels > 0; levels -= 1, names -= 2) {
    const shape = shapeOf(json.value, { levels, names });
    if (shape.length <= maxLength) return shape;
  }
  return Array.isArray(json.value) ? `list of ${json.value.length}` : "object";
}

function shapeOf(value: unknown, { levels, names }: { levels: number; names: number }): string {
  if (value === null) return "null";
  if (typeof value === "string") return value.length > 1_000 ? `text of ${value.length} characters` : "text";
  if (typeof value !== "object") return typeof value;
  const inside = { levels: levels - 1, names };
  if (Array.isArray(value)) {
    const [first] = value as unknown[];
    const items = levels === 1 || value.length === 0 ? "" : ` ${shapeOf(first, inside)}`;
    return `list of ${value.length}${items}`;
  }
  const keys = Object.keys(value);
  if (keys.length === 0) return "{}";
  if (levels === 1) return keys.length === 1 ? "object" : `object of ${keys.length}`;
  const shown = keys
    .slice(0, names)
    .map((key) => `${shownName(key)}: ${shapeOf((value as Record<string, unknown>)[key], inside)}`);
  const more = keys.length > names ? [`${keys.length - names} more`] : [];
  return `{ ${[...shown, ...more].join(", ")} }`;
}

const shownName = (name: string): string => {
  const short = name.length > MAX_NAME ? `${name.slice(0, MAX_NAME)}…` : name;
  return /^[\w$-]+$/.test(short) ? short : JSON.stringify(short);
};

export const SMALLEST_PREVIEW = 300;
const MAX_TRIES = 5;
const SHAPE_LENGTH = 450;

export interface Preview {
  readonly note: string;
  readonly fitted: FittedText;
}

/** `share`: bytes for the text, and for the note too if the rest can be read. `tokens`: the same in tokens. */
export function previewText(
  outline: Outline,
  { id, share, tokens }: { id: string | undefined; share: number; tokens: number },
): Preview {
  let shapeLength = SHAPE_LENGTH;
  const describe = (fitted: FittedText) => describeCut({ outline, fitted, id, shapeLength });
  if (id === undefined) {
    const fitted = fitOutline(outline, Math.max(0, share));
    return { note: describe(fitted), fitted };
  }
  const example = { text: "x", shown: "items 0 to 10 of 1000000", next: 10 };
  while (shapeLength > 50 && tokenCeiling(describe(example)) > tokens / 2) shapeLength /= 2;
  const about = describe(example);
  const left = tokens - tokenCeiling(about);
  let bytes = Math.max(SMALLEST_PREVIEW, share - utf8Length(about));
  let fitted = fitOutline(outline, bytes);
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const used = tokenCeiling(fitted.text);
    if (used <= left) break;
    bytes = Math.floor((bytes * left) / used);
    fitted = fitOutline(outline, bytes);
  }
  return { note: describe(fitted), fitted };
}
