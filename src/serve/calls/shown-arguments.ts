/** The arguments of a call for the person who approves it: shortened so that no argument can hide another one. */
import { type Fields, isRecord } from "../../util/is-record.js";
import { visibleLine } from "../../util/visible-text.js";

export interface ShownArguments {
  /** JSON. Notes in brackets follow shortened values: "(+90 characters)". */
  readonly text: string;
  readonly isShortened: boolean;
}

const MAX_SHOWN = 3_000;
/** Longer names of arguments are shortened. */
const MAX_NAME = 32;
/** Space for the smallest form of a value, and of a field: a name and a value. */
const MIN_VALUE = 32;
const MIN_FIELD = MAX_NAME + MIN_VALUE + 2;
/** Space for the number of entries that are left out. */
const REST = 24;
/** Longer values below this depth are only counted, because each level reads its values again. */
const MAX_DEPTH = 5;

type Field = readonly [name: string, value: unknown];

/**
 * Shows arguments in about 3,000 characters. The shortest values get their space first and the long ones share the rest, so a
 * value is shortened only because of its own length. Of more arguments than fit, the declared ones come first.
 *
 * @param declared `properties` of the tool's input schema
 * @example
 * ```ts
 * showArguments({ note: "x".repeat(9_000), path: "/etc/passwd" }, undefined).text;
 * // {"note":"xxx" (+6078 characters),"path":"/etc/passwd"}, with more of the note
 * ```
 */
export function showArguments(args: Fields, declared: unknown): ShownArguments {
  const whole = fitting(args, MAX_SHOWN);
  if (whole !== undefined) return { text: whole, isShortened: false };
  const known = isRecord(declared) ? declared : {};
  const fields = Object.entries(args);
  const isKnown = ([name]: Field): boolean => Object.hasOwn(known, name);
  const ordered = [...fields.filter(isKnown), ...fields.filter((field) => !isKnown(field))];
  return { text: showFields(ordered, MAX_SHOWN, 0), isShortened: true };
}

const toJson = (value: unknown): string => JSON.stringify(value) ?? "undefined";

/** The whole value if it is short enough. Invisible characters are spelled out. */
function fitting(value: unknown, space: number): string | undefined {
  const json = toJson(value);
  if (json.length > space) return undefined;
  const text = visibleLine(json);
  return text.length > space ? undefined : text;
}

function show(value: unknown, space: number, depth: number): string {
  const whole = fitting(value, space);
  if (whole !== undefined) return whole;
  if (typeof value === "string") return shorten(value, space);
  if (Array.isArray(value)) {
    if (depth > MAX_DEPTH || space < MIN_VALUE + REST) return `[(+${value.length} items)]`;
    const texts = shareSpace(
      value.slice(0, Math.floor((space - REST) / MIN_VALUE)),
      space,
      (item) => lengthOf(item, space),
      (item, share) => show(item, share, depth + 1),
    );
    return `[${withRest(texts, value.length, "items")}]`;
  }
  if (!isRecord(value)) return toJson(value);
  const fields = Object.entries(value);
  return depth > MAX_DEPTH || space < MIN_FIELD + REST
    ? `{(+${fields.length} fields)}`
    : showFields(fields, space, depth);
}

function showFields(fields: readonly Field[], space: number, depth: number): string {
  const texts = shareSpace(
    fields.slice(0, Math.floor((space - REST) / MIN_FIELD)),
    space,
    ([name, value]) => showName(name).length + 1 + lengthOf(value, space),
    ([name, value], share) => {
      const shown = showName(name);
      return `${shown}:${show(value, share - shown.length - 1, depth + 1)}`;
    },
  );
  return `{${withRest(texts, fields.length, depth === 0 ? "arguments" : "fields")}}`;
}

const showName = (name: string): string => fitting(name, MAX_NAME) ?? shorten(name, MAX_NAME);

/** Exact only if the value fits. */
const lengthOf = (value: unknown, space: number): number =>
  fitting(value, space)?.length ?? toJson(value).length;

function withRest(texts: readonly string[], count: number, what: string): string {
  const missing = count - texts.length;
  return missing === 0 ? texts.join(",") : `${texts.join(",")} (+${missing} ${what})`;
}

/** Shows every entry: short ones in full, and long ones in equal parts of the space that is left. */
function shareSpace<Entry>(
  entries: readonly Entry[],
  space: number,
  measure: (entry: Entry) => number,
  display: (entry: Entry, share: number) => string,
): string[] {
  const texts: string[] = new Array(entries.length);
  const lengths = entries.map(measure);
  let left = space - REST;
  let remaining = entries.length;
  for (const index of [...entries.keys()].sort((a, b) => lengths[a]! - lengths[b]!)) {
    const text = display(entries[index]!, Math.floor(left / remaining) - 1);
    texts[index] = text;
    left -= text.length + 1;
    remaining--;
  }
  return texts;
}

/** The beginning of a text, with the number of characters that are missing. */
function shorten(text: string, space: number): string {
  const note = (kept: number): string => ` (+${text.length - kept} characters)`;
  let kept = Math.max(1, space - note(0).length - 2);
  let head = visibleLine(toJson(text.slice(0, kept)));
  // Escape sequences are longer than the characters.
  while (kept > 1 && head.length + note(kept).length > space) {
    kept = Math.floor(kept * 0.9);
    head = visibleLine(toJson(text.slice(0, kept)));
  }
  return head + note(kept);
}
