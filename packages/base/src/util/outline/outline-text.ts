/** Divides a text into parts that can be shown one by one: the items of its longest JSON list, or its lines. */
import { parseJson } from "../json.js";
import {
  childrenOf,
  compactJson,
  endOfChild,
  endOfText,
  type JsonSpans,
  nameOf,
  startOfValue,
} from "./json-spans.js";

/** `entries`: the members of an object that has very many. */
export type OutlineUnit = "items" | "entries" | "lines";

export interface Outline {
  readonly unit: OutlineUnit;
  /** Where the parts are, such as `data.issues`; empty for the whole text. */
  readonly path: string;
  /** Number of parts. */
  readonly count: number;
  /** The parts `from` to `to`, without `to`, as they are written. */
  slice(from: number, to: number): string;
  /** JSON before and after the parts; empty for lines. */
  readonly before: string;
  readonly after: string;
  /** The whole as compact JSON, and parsed; undefined if it is not JSON. */
  readonly json: { readonly text: string; readonly value: unknown } | undefined;
}

/** Longer lines count as several. */
const LONGEST_LINE = 2_000;
/** Each level is read once more. */
const MAX_LEVELS = 8;
/** An object with fewer members is a record, not a list. */
const MANY_MEMBERS = 20;

export function outlineText(text: string): Outline {
  const json = readJson(text);
  if (json === undefined) return outlineLines(text, "", undefined);
  const found = findParts(json.text);
  if (found === undefined) return outlineLines(json.text, "", json);
  if ("said" in found) return outlineLines(found.said, found.path, json);
  const { at, spans, path } = found;
  return {
    unit: spans.isList ? "items" : "entries",
    path,
    count: spans.starts.length,
    slice: (from, to) => (from >= to ? "" : json.text.slice(spans.starts[from], endOfChild(spans, to - 1))),
    before: json.text.slice(0, at + 1),
    after: json.text.slice(spans.end),
    json,
  };
}

/** JSON without white space between its tokens; other texts as they are. */
export const compactText = (text: string): string => readJson(text)?.text ?? text;

/** Numbers and short texts are JSON too, but not worth the work. */
function readJson(given: string): Outline["json"] {
  // Not a part of the JSON, but of many files.
  const text = given.startsWith("\ufeff") ? given.slice(1) : given;
  const first = /^\s{0,100}([[{])/.exec(text.slice(0, 101));
  const value = first === null ? undefined : parseJson(text);
  return value === undefined ? undefined : { text: compactJson(text), value };
}

type Found =
  | { readonly at: number; readonly spans: JsonSpans; readonly path: string }
  | { readonly said: string; readonly path: string };

/** Goes down to the largest value until that is a list whose items can be shown one by one, or a long text. */
function findParts(json: string): Found | undefined {
  let at = 0;
  let end = json.length;
  let path = "";
  let best: Exclude<Found, { said: string }> | undefined;
  for (let level = 0; level < MAX_LEVELS; level += 1) {
    const spans = childrenOf(json, at);
    if (spans === undefined) {
      const isMost = json[at] === '"' && end - at > json.length / 2;
      return isMost ? { said: JSON.parse(json.slice(at, endOfText(json, at) + 1)) as string, path } : best;
    }
    const { isList, starts } = spans;
    if (starts.length === 0) return best;
    const largest = largestChild(spans);
    const share = (endOfChild(spans, largest) - starts[largest]!) / (spans.end - at);
    const found = { at, spans, path };
    if (isList ? starts.length > 1 && share < 0.9 : starts.length >= MANY_MEMBERS && share < 0.5)
      return found;
    if (isList && starts.length > (best?.spans.starts.length ?? 1)) best = found;
    at = startOfValue(json, spans, largest);
    end = endOfChild(spans, largest);
    const step = isList ? String(largest) : nameOf(json, spans, largest).slice(0, 100);
    path = path === "" ? step : `${path}.${step}`;
  }
  return best;
}

function largestChild(spans: JsonSpans): number {
  let largest = 0;
  let most = 0;
  for (let index = 0; index < spans.starts.length; index += 1) {
    const size = endOfChild(spans, index) - spans.starts[index]!;
    if (size <= most) continue;
    most = size;
    largest = index;
  }
  return largest;
}

function outlineLines(text: string, path: string, json: Outline["json"]): Outline {
  const starts = lineStarts(text);
  const endOf = (index: number) => starts[index] ?? text.length;
  return {
    unit: "lines",
    path,
    count: starts.length,
    slice(from, to) {
      const lines = text.slice(endOf(from), endOf(to));
      // The line break before the next part, if there is one.
      return to < starts.length && lines.endsWith("\n")
        ? lines.slice(0, lines.endsWith("\r\n") ? -2 : -1)
        : lines;
    },
    before: "",
    after: "",
    json,
  };
}

/** Where each line begins, and each part of a long line. */
function lineStarts(text: string): number[] {
  const starts: number[] = [];
  for (let line = 0; line < text.length || line === 0; ) {
    const found = text.indexOf("\n", line);
    const end = found === -1 ? text.length : found + 1;
    starts.push(line);
    for (let next = line + LONGEST_LINE; next < end; next += LONGEST_LINE) {
      const unit = text.charCodeAt(next);
      // Not between the two halves of a character.
      if (unit >= 0xdc00 && unit < 0xe000) next -= 1;
      starts.push(next);
    }
    line = end;
    if (text.length === 0) break;
  }
  return starts;
}
