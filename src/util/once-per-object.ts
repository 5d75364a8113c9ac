/** Results that are remembered as long as the object they belong to. */

/** Returns a function that calls `make` once for each object. */
export function oncePerObject<Key extends object, Value>(make: (key: Key) => Value): (key: Key) => Value {
  const values = new WeakMap<Key, Value>();
  return (key) => {
    const value = values.get(key);
    if (value !== undefined || values.has(key)) return value as Value;
    const made = make(key);
    values.set(key, made);
    return made;
  };
}
