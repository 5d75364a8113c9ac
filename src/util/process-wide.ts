/** State that every copy of Toolport in a process shares: the ESM build, the CommonJS build, and other installed versions. */

/**
 * The object of this name, created by the first copy that asks.
 *
 * Other versions of Toolport read it too: give it a new name when its shape changes.
 */
export function processWide<T extends object>(name: string, create: () => T): T {
  const key = Symbol.for(`toolport.${name}`);
  const shared = globalThis as { [key: symbol]: unknown };
  shared[key] ??= create();
  return shared[key] as T;
}
