/** Reads values of unknown shape: what fits, or a word about what does not. */

export type Fields = Readonly<Record<string, unknown>>;

/** A problem, told from a value by its class. */
export class InvalidValue {
  readonly problem: string;
  constructor(problem: string) {
    this.problem = problem;
  }
}

export const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** An own field, so that a polluted prototype adds nothing; `null` counts as missing. */
export const fieldOf = (fields: Fields, key: string): unknown =>
  Object.hasOwn(fields, key) ? (fields[key] ?? undefined) : undefined;

/** Texts and flags that are of another type count as missing. */
export const textOf = (fields: Fields, key: string): string | undefined => {
  const value = fieldOf(fields, key);
  return typeof value === "string" ? value : undefined;
};

export const flagOf = (fields: Fields, key: string): boolean | undefined => {
  const value = fieldOf(fields, key);
  return typeof value === "boolean" ? value : undefined;
};

/** Items that are no texts are left out; undefined where there is no list. */
export const textsOf = (fields: Fields, key: string): string[] | undefined => {
  const value = fieldOf(fields, key);
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : undefined;
};

/** All items of a list, or the first thing that is wrong with one of them. A missing list is an empty one. */
export function readEach<T extends object>(
  fields: Fields,
  key: string,
  read: (value: unknown) => T | InvalidValue,
): T[] | InvalidValue {
  const value = fieldOf(fields, key) ?? [];
  if (!Array.isArray(value)) return new InvalidValue(`"${key}" is not a list`);
  const items: T[] = [];
  for (const [index, item] of value.entries()) {
    const found = read(item);
    if (found instanceof InvalidValue) return new InvalidValue(`${key}[${index}]: ${found.problem}`);
    items.push(found);
  }
  return items;
}
