/** Copies plain data, so that callers can change the copy. */

type CopyOther = (value: unknown) => unknown;

const itself: CopyOther = (value) => value;

/** Copies plain objects and lists; other values (functions, class instances) are passed to `copyOther`. */
export function clonePlain<Value>(value: Value, copyOther?: CopyOther): Value;
export function clonePlain(value: unknown, copyOther: CopyOther = itself): unknown {
  if (!isReference(value)) return value;
  if (Array.isArray(value)) return cloneList(value, copyOther);
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return copyOther(value);
  // The shallow copy defines `__proto__` as an own key, so setting it does not change the prototype.
  const copy: Record<string, unknown> = { ...value };
  for (const key in copy) {
    const inner = copy[key];
    // Most are plain values. Thousands of schemas are copied before this code is optimised, so every function call counts.
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
