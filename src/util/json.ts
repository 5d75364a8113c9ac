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

export interface JsonLimits {
  readonly levels: number;
  /** Objects and arrays. */
  readonly containers: number;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/**
 * The number of objects and arrays in a JSON text, or the limit that it goes beyond. Reads only brackets, and stops at the limit:
 * parsing 4 MiB of brackets would take half a second.
 */
export function countContainers(text: string, { levels, containers }: JsonLimits): number | keyof JsonLimits {
  let level = 0;
  let count = 0;
  let isInString = false;
  for (let at = 0; at < text.length; at += 1) {
    const char = text.charCodeAt(at);
    if (char === QUOTE) isInString = !isInString;
    else if (isInString) {
      // The next character is escaped.
      if (char === BACKSLASH) at += 1;
    } else if (char === 0x5b || char === 0x7b) {
      level += 1;
      count += 1;
      if (level > levels) return "levels";
      if (count > containers) return "containers";
    } else if (char === 0x5d || char === 0x7d) level -= 1;
  }
  return count;
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
