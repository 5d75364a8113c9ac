/** Parsing and measuring of JSON values. */

/** Undefined if the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Whether a value has more than `levels` levels. Stops at the limit, so it cannot overflow the stack. Skips members in `except`. */
export function isNestedDeeper(value: unknown, levels: number, except?: ReadonlySet<string>): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (levels === 0) return true;
  // Faster than `for…in`, which converts every index to a string.
  if (Array.isArray(value)) {
    for (const item of value) if (isNestedDeeper(item, levels - 1)) return true;
    return false;
  }
  for (const key in value) {
    const child = (value as Record<string, unknown>)[key];
    if (typeof child !== "object" || child === null || except?.has(key)) continue;
    if (isNestedDeeper(child, levels - 1)) return true;
  }
  return false;
}

/** Whether two JSON values have the same text. False for values that are nested too deep to be written. */
export function isSameJson(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  try {
    return JSON.stringify(one) === JSON.stringify(other);
  } catch {
    return false;
  }
}
