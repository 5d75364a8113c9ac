/** Values with named fields, for values whose prototype is known to be plain, such as parsed JSON. */

export type Fields = Readonly<Record<string, unknown>>;

/** Whether a value is an object and no array. */
export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
