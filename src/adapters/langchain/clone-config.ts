/** A copy of a configuration that can be looked at and changed without consequences. */

/** Copies plain objects and lists; functions and providers stay what they are. */
export function cloneConfig<Value>(value: Value): Value {
  if (Array.isArray(value)) return value.map(cloneConfig) as Value;
  if (typeof value !== "object" || value === null) return value;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, cloneConfig(inner)])) as Value;
}
