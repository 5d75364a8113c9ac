/** Calls a function of the user's so that its failure does not reach the caller. */

const isThenable = (value: unknown): value is PromiseLike<unknown> =>
  typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function";

/**
 * Runs `call`; what it throws, or the promise it returns rejects with, goes to `report` and nowhere else. Returns a promise
 * of its end if it returned one, else undefined.
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
