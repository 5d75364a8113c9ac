/** Inspects errors of other libraries by fields, brands and statuses, never by message text. */

/** Reads a field of any value; undefined if a getter throws. */
export function readField(value: unknown, key: string | symbol): unknown {
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return undefined;
  try {
    return (value as Record<string | symbol, unknown>)[key];
  } catch {
    return undefined;
  }
}

const brandsKey = Symbol.for("mcp.sdk.errorBrands");

/** Whether an error has a brand of the MCP SDK, such as `mcp.SdkHttpError`. Works across copies of the SDK. */
export function hasBrand(error: unknown, brand: string): boolean {
  const brands = readField(error, brandsKey);
  // Only own brands count, as in the SDK: a polluted prototype must not turn everything into an SDK error.
  if (brands === undefined || !Object.hasOwn(error as object, brandsKey)) return false;
  const { has } = brands as Partial<Set<string>>;
  return typeof has === "function" && has.call(brands, brand);
}

/** Whether an error is of a class with this name. Version 1 of the SDK has no brands and often sets no `name`. */
export function isNamed(error: unknown, name: string): boolean {
  return readField(error, "name") === name || readField(readField(error, "constructor"), "name") === name;
}

const isStatus = (value: unknown): value is number =>
  typeof value === "number" && Number.isInteger(value) && value >= 100 && value <= 599;

/** The HTTP status of an error: `status`, the SDK's `data.status`, or `code` in older classes of the SDK. */
export function httpStatusOf(error: unknown): number | undefined {
  const candidates = [
    readField(error, "status"),
    readField(readField(error, "data"), "status"),
    readField(error, "code"),
  ];
  return candidates.find(isStatus);
}

const MAX_VISITED = 100;

/**
 * Yields an error, its causes and the errors it combines, breadth first and each once. Skips errors that `opaque` accepts,
 * and everything behind them.
 */
export function* walkErrors(error: unknown, opaque?: (error: unknown) => boolean): Generator<unknown> {
  const queue = [error];
  const seen = new Set<unknown>([undefined, null]);
  while (queue.length > 0 && seen.size < MAX_VISITED) {
    const next = queue.shift();
    if (seen.has(next)) continue;
    seen.add(next);
    if (opaque?.(next) === true) continue;
    yield next;
    queue.push(readField(next, "cause"), readField(readField(next, "data"), "cause"));
    for (const key of ["errors", "attempts"]) {
      const several = readField(next, key);
      if (Array.isArray(several)) queue.push(...several.slice(0, MAX_VISITED));
    }
  }
}
