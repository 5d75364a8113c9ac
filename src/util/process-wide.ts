/** State shared by all copies of Toolport in a process: the ESM and CommonJS builds and other installed versions. */

/**
 * Returns the object with this name; the first copy that needs it creates it.
 *
 * Other versions of Toolport read it too: change the name when the shape changes.
 */
export function processWide<T extends object>(name: string, create: () => T): T {
  const key = Symbol.for(`toolport.${name}`);
  const shared = globalThis as { [key: symbol]: unknown };
  shared[key] ??= create();
  return shared[key] as T;
}
