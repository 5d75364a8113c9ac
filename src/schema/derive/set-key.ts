/** Sets a property as `JSON.parse` would: assigning to `__proto__` would change what the object is. */
export function setKey(object: Record<string, unknown>, key: string, value: unknown): void {
  if (key !== "__proto__") object[key] = value;
  else Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
}
