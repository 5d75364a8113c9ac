/** Calls a user's function and reports its failures instead of throwing them. */

const isThenable = (value: unknown): value is PromiseLike<unknown> =>
  typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function";

/**
 * Runs `call` and passes its error or rejection to `report`. Returns a promise that settles with the call if it is asynchronous,
 * else undefined.
 */
export function callSafely(
  call: () => unknown,
  report: (error: unknown) => void,
): Promise<unknown> | undefined {
  try {
    const returned = call();
    if (isThenable(returned)) return Promise.resolve(returned).then(undefined, report);
  } catch (error) {
    report(error);
  }
  return undefined;
}
