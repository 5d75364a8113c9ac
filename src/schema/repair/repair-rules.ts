/** The possible changes to one invalid value, as pure functions. They return undefined if the rule does not apply. */
import type { ArgumentRepair } from "../argument-repair.js";
import type { SchemaNode } from "../compile-schema.js";
import { isOfType } from "./lenient-schema.js";

/** The kinds of value that `type`, `enum` and `const` allow. */
export type Kind = "null" | "boolean" | "number" | "string" | "array" | "object";

const KINDS: readonly Kind[] = ["null", "boolean", "number", "string", "array", "object"];
const MAX_JSON_TEXT = 1024 * 1024;
/** A number as JSON writes it: no leading zeros, no hexadecimal, no separators. */
const NUMBER = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/;
const BOOLEANS: Readonly<Record<string, boolean>> = {
  ...{ true: true, True: true, TRUE: true },
  ...{ false: false, False: false, FALSE: false },
};
/** What models write for "no value". */
const PLACEHOLDERS: readonly unknown[] = ["", "null", "None"];

export const kindOf = (value: unknown): Kind => KINDS.find((kind) => isOfType(value, kind)) ?? "null";

/** The kinds that all of these schemas allow. */
export function allowedKinds(nodes: readonly SchemaNode[]): ReadonlySet<Kind> {
  let kinds = KINDS;
  for (const { type, enum: choices, const: only } of nodes) {
    if (type !== undefined) {
      const types = (Array.isArray(type) ? type : [type]).map((name) =>
        name === "integer" ? "number" : name,
      );
      kinds = kinds.filter((kind) => types.includes(kind));
    }
    const allowed = Array.isArray(choices) ? choices : only === undefined ? undefined : [only];
    if (allowed !== undefined) {
      const present = allowed.map(kindOf);
      kinds = kinds.filter((kind) => present.includes(kind));
    }
  }
  return new Set(kinds);
}

/** A value that means "not given". */
export const isPlaceholder = (value: unknown): boolean =>
  PLACEHOLDERS.includes(value) || (isOfType(value, "object") && Object.keys(value as object).length === 0);

/** Parses a text as a JSON object or list; undefined if a number in it would lose digits. */
function parseJsonText(text: string): unknown {
  const trimmed = text.trim();
  if (text.length > MAX_JSON_TEXT || !/^[[{]/.test(trimmed)) return undefined;
  let isExact = true;
  try {
    const parsed: unknown = JSON.parse(trimmed, (_key, value) => {
      if (typeof value === "number" && !isExactNumber(value)) isExact = false;
      return value;
    });
    return isExact ? parsed : undefined;
  } catch {
    return undefined;
  }
}

const isExactNumber = (value: number): boolean =>
  Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value));

function textToNumber(text: string): number | undefined {
  const trimmed = text.trim();
  if (!NUMBER.test(trimmed)) return undefined;
  const value = Number(trimmed);
  return isExactNumber(value) ? value : undefined;
}

const textToBoolean = (text: string): boolean | undefined =>
  Object.hasOwn(BOOLEANS, text) ? BOOLEANS[text] : undefined;

/** The one member of an enum or constant that differs from the text in case alone. */
function otherCase(text: string, nodes: readonly SchemaNode[]): string | undefined {
  const wanted = text.toLowerCase();
  const found = new Set<string>();
  for (const { enum: choices, const: only } of nodes)
    for (const choice of Array.isArray(choices) ? choices : [only])
      if (typeof choice === "string" && choice.toLowerCase() === wanted) found.add(choice);
  const [member] = found;
  return found.size === 1 && member !== text ? member : undefined;
}

/** Not for fractions: 1.1 may have been meant as 1.1 or as 1.10. */
const numberToText = (value: number): string | undefined =>
  Number.isSafeInteger(value) ? String(value) : undefined;

/** Whether a value may become the only item of a list. Several values in one text may not. */
function isOneItem(value: unknown): boolean {
  if (value === null || Array.isArray(value) || isPlaceholder(value)) return false;
  return typeof value !== "string" || !(/[,;\r\n]/.test(value) || /^\s*[[{"]/.test(value));
}

/** The letters and digits of a name: `maxResults` and `max_results` have the same. */
export const lettersOf = (name: string): string => name.replace(/[^\p{L}\p{N}]/gu, "").toLowerCase();

/** A value and the change that makes it, in the order of the rules. */
export interface Candidate {
  readonly value: unknown;
  readonly change: ArgumentRepair["change"];
}

/** The candidates that the rules produce for one value, best first. */
export function* candidatesFor(value: unknown, nodes: readonly SchemaNode[]): Generator<Candidate> {
  const kinds = allowedKinds(nodes);
  if (typeof value === "string") {
    if (!kinds.has("string")) {
      const parsed = parseJsonText(value);
      if (parsed !== undefined && kinds.has(kindOf(parsed)))
        yield { value: parsed, change: "parsed JSON text" };
    }
    const number = kinds.has("number") ? textToNumber(value) : undefined;
    if (number !== undefined) yield { value: number, change: "text to number" };
    const flag = kinds.has("boolean") ? textToBoolean(value) : undefined;
    if (flag !== undefined) yield { value: flag, change: "text to boolean" };
    const member = otherCase(value, nodes);
    if (member !== undefined) yield { value: member, change: "other case" };
  }
  if (typeof value === "number" && kinds.has("string")) {
    const text = numberToText(value);
    if (text !== undefined) yield { value: text, change: "number to text" };
  }
  if (kinds.has("array") && isOneItem(value)) yield { value: [value], change: "one value to a list" };
}
