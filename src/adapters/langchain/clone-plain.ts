/** A copy of plain data that can be looked at and changed without consequences. */

type CopyOther = (value: unknown) => unknown;

const itself: CopyOther = (value) => value;

/** Copies plain objects and lists; what is something else (functions, instances of classes) goes through `copyOther`. */
export function clonePlain<Value>(value: Value, copyOther?: CopyOther): Value;
export function clonePlain(value: unknown, copyOther: CopyOther = itself): unknown {
  if (!isReference(value)) return value;
  if (Array.isArray(value)) return cloneList(value, copyOther);
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return copyOther(value);
  // Copied whole first: a key `__proto__` is then one like any other, and stays one when it is set.
  const copy: Record<string, unknown> = { ...value };
  for (const key in copy) {
    const inner = copy[key];
    // Most are plain values. Thousands of schemas are copied before any of this is compiled, so every call counts.
    if (isReference(inner)) copy[key] = clonePlain(inner, copyOther);
  }
  return copy;
}

function cloneList(list: readonly unknown[], copyOther: CopyOther): unknown[] {
  const copy = list.slice();
  for (let i = 0; i < copy.length; i++) {
    const inner = copy[i];
    if (isReference(inner)) copy[i] = clonePlain(inner, copyOther);
  }
  return copy;
}

const isReference = (value: unknown): value is object =>
  typeof value === "object" ? value !== null : typeof value === "function";
