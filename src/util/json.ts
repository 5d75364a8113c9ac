/** The value of a text of JSON, or undefined where it is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Stops at the limit, so that it cannot overflow the stack itself. `except`: members of it that are not looked into. */
export function isNestedDeeper(value: unknown, levels: number, except?: ReadonlySet<string>): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (levels === 0) return true;
  // Names of properties that are numbers would have to be made one by one.
  if (Array.isArray(value)) {
    for (const item of value) if (isNestedDeeper(item, levels - 1)) return true;
    return false;
  }
  for (const key in value) {
    const child = (value as Record<string, unknown>)[key];
    // Most are text: nobody is asked about those.
    if (typeof child !== "object" || child === null || except?.has(key)) continue;
    if (isNestedDeeper(child, levels - 1)) return true;
  }
  return false;
}
