/** Loads and makes once what many callers share. */

export interface Loader<Loaded> {
  (): Promise<Loaded>;
  /** Undefined before the first load, and after one that failed. */
  current?: Promise<Loaded> | undefined;
}

/** Loads on first use, once for all callers. After a failure, which may be temporary, the next caller tries again. */
export function loadOnce<Loaded>(load: () => Promise<Loaded>): Loader<Loaded> {
  const loader: Loader<Loaded> = () => {
    loader.current ??= load().catch((error: unknown) => {
      loader.current = undefined;
      throw error;
    });
    return loader.current;
  };
  return loader;
}

/** Returns a function that calls `make` once for each object, and remembers the result as long as the object lives. */
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
