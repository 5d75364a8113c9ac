/** Validates the content of an accepted form and fills in the defaults of its schema. */
import { canParseUrl } from "../../util/text.js";
import type { FormSchema } from "./elicitation-request.js";

/** A value of a form field. */
export type FormValue = string | number | boolean | string[];

/** A problem with one field. */
export interface FormIssue {
  readonly path: string;
  readonly message: string;
}

/** The schema of one field. Nothing is guaranteed: it comes from the server. */
interface Field {
  type?: unknown;
  enum?: unknown;
  oneOf?: unknown;
  format?: unknown;
  minLength?: unknown;
  maxLength?: unknown;
  minimum?: unknown;
  maximum?: unknown;
  minItems?: unknown;
  maxItems?: unknown;
  items?: { enum?: unknown; anyOf?: unknown };
  default?: unknown;
}

/**
 * Fills in defaults for missing fields, then validates every field.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation
 */
export function completeForm(
  schema: FormSchema,
  given: Readonly<Record<string, unknown>>,
): { content: Record<string, FormValue> } | { issues: FormIssue[] } {
  const fields = Object.entries(schema.properties as Record<string, Field>);
  const required = new Set(schema.required);
  const issues: FormIssue[] = [];
  const content: [string, FormValue][] = [];
  for (const [path, field] of fields) {
    const value =
      Object.hasOwn(given, path) && given[path] !== undefined ? given[path] : usableDefault(field);
    if (value === undefined) {
      if (required.has(path)) issues.push({ path, message: "is required" });
      continue;
    }
    const fault = fieldFault(field, value);
    if (fault === undefined) content.push([path, value as FormValue]);
    else issues.push({ path, message: fault });
  }
  const asked = new Set(fields.map(([name]) => name));
  // Values that the server did not request must not be sent.
  for (const path of Object.keys(given))
    if (!asked.has(path) && given[path] !== undefined) issues.push({ path, message: "was not asked for" });
  return issues.length > 0 ? { issues } : { content: Object.fromEntries(content) };
}

/** Ignores a default that violates the rules of its own field: the user is not responsible for it. */
const usableDefault = (field: Field): unknown =>
  field.default !== undefined && fieldFault(field, field.default) === undefined ? field.default : undefined;

function fieldFault(field: Field, value: unknown): string | undefined {
  switch (field.type) {
    case "string":
      return typeof value === "string" ? textFault(field, value) : "must be a string";
    case "boolean":
      return typeof value === "boolean" ? undefined : "must be true or false";
    case "number":
      return isNumber(value) ? rangeFault(field, value) : "must be a number";
    case "integer":
      return isNumber(value) && Number.isInteger(value) ? rangeFault(field, value) : "must be a whole number";
    default:
      return choicesFault(field, value);
  }
}

const isNumber = (value: unknown): value is number => typeof value === "number" && Number.isFinite(value);

function textFault(field: Field, value: string): string | undefined {
  const options = optionsOf(field.enum, field.oneOf);
  if (options !== undefined) return options.includes(value) ? undefined : "is not one of the choices";
  // JSON Schema counts code points, not UTF-16 units.
  const length = [...value].length;
  if (isNumber(field.minLength) && length < field.minLength) return `is shorter than ${field.minLength}`;
  if (isNumber(field.maxLength) && length > field.maxLength) return `is longer than ${field.maxLength}`;
  const format = typeof field.format === "string" ? FORMATS.get(field.format) : undefined;
  return format === undefined || format.fits(value) ? undefined : `is not ${format.name}`;
}

function rangeFault({ minimum, maximum }: Field, value: number): string | undefined {
  if (isNumber(minimum) && value < minimum) return `is less than ${minimum}`;
  if (isNumber(maximum) && value > maximum) return `is more than ${maximum}`;
  return undefined;
}

function choicesFault({ items, minItems, maxItems }: Field, value: unknown): string | undefined {
  if (!Array.isArray(value) || !value.every((item) => typeof item === "string"))
    return "must be a list of strings";
  if (isNumber(minItems) && value.length < minItems) return `has fewer than ${minItems} choices`;
  if (isNumber(maxItems) && value.length > maxItems) return `has more than ${maxItems} choices`;
  const options = optionsOf(items?.enum, items?.anyOf);
  if (options === undefined) return undefined;
  return value.every((item) => options.includes(item)) ? undefined : "is not among the choices";
}

/** Choices are listed as plain values, or as objects with a title. */
function optionsOf(values: unknown, titled: unknown): readonly unknown[] | undefined {
  if (Array.isArray(values)) return values;
  if (!Array.isArray(titled)) return undefined;
  return titled.map((option) => (option as { const?: unknown } | null)?.const);
}

const DATE = /^\d{4}-\d{2}-\d{2}$/;
const DATE_TIME = /^\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}(?:\.\d{1,12})?(?:[Zz]|[+-]\d{2}:\d{2})$/;
const EMAIL = /^[^\s@]{1,254}@[^\s@]{1,254}$/;

/** The four formats of the specification; any other format is ignored. */
const FORMATS = new Map<string, { name: string; fits: (value: string) => boolean }>([
  ["email", { name: "an e-mail address", fits: (value) => EMAIL.test(value) }],
  ["uri", { name: "a URI", fits: (value) => canParseUrl(value) }],
  ["date", { name: "a date", fits: (value) => DATE.test(value) && isDay(value) }],
  ["date-time", { name: "a date with a time", fits: (value) => DATE_TIME.test(value) && isDay(value) }],
]);

/** `Date` reads 31 February as a day in March, so the date is formatted again and compared. */
function isDay(value: string): boolean {
  const day = value.slice(0, 10);
  const time = Date.parse(`${day}T00:00:00Z`);
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(day);
}
