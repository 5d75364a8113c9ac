/** The schema of a tool, made when it is first read: thousands of tools may be loaded of which a model is shown few. */

/** Defines `schema` on a tool. It may be read, assigned, and shadowed by objects made from the tool, like a plain property. */
export function defineLazySchema(tool: object, make: () => unknown): void {
  const define = (target: object, value: unknown) => {
    Object.defineProperty(target, "schema", { value, enumerable: true, configurable: true, writable: true });
    return value;
  };
  Object.defineProperty(tool, "schema", {
    enumerable: true,
    configurable: true,
    get: () => define(tool, make()),
    set(this: object, value: unknown) {
      define(this, value);
    },
  });
}
