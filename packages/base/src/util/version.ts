/** Name and version of this package, and the state that all of its copies in a process share. */

/** Equal to the version of the published package; a test compares them. */
export const VERSION = "0.2.0";

/** How Toolport identifies itself to servers. */
export const CLIENT_INFO = { name: "toolport", version: VERSION } as const;

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

/** Some firewalls reject requests without it. A configured `user-agent` header replaces it. */
export const USER_AGENT = `toolport/${VERSION}`;
