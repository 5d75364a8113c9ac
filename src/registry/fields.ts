/** Reads fields of unvalidated JSON. */
import type { Fields } from "../util/json.js";

/** The result of a failed read, with the problem. */
export class InvalidValue {
  readonly problem: string;
  constructor(problem: string) {
    this.problem = problem;
  }
}

/** An own field, to ignore polluted prototypes. `null` counts as missing. */
export const fieldOf = (fields: Fields, key: string): unknown =>
  Object.hasOwn(fields, key) ? (fields[key] ?? undefined) : undefined;

/** A string field. Values of other types count as missing. */
export const textOf = (fields: Fields, key: string): string | undefined => {
  const value = fieldOf(fields, key);
  return typeof value === "string" ? value : undefined;
};

export const flagOf = (fields: Fields, key: string): boolean | undefined => {
  const value = fieldOf(fields, key);
  return typeof value === "boolean" ? value : undefined;
};

/** The strings of an array; undefined if the field is not an array. */
export const textsOf = (fields: Fields, key: string): string[] | undefined => {
  const value = fieldOf(fields, key);
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : undefined;
};

/** Reads all items of an array; returns the first problem. A missing array is empty. */
export function readEach<T extends object>(
  fields: Fields,
  key: string,
  read: (value: unknown) => T | InvalidValue,
): T[] | InvalidValue {
  const value = fieldOf(fields, key) ?? [];
  if (!Array.isArray(value)) return new InvalidValue(`"${key}" is not an array`);
  const items: T[] = [];
  for (const [index, item] of value.entries()) {
    const found = read(item);
    if (found instanceof InvalidValue) return new InvalidValue(`${key}[${index}]: ${found.problem}`);
    items.push(found);
  }
  return items;
}
