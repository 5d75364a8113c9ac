/** Calls a function of somebody else's so that its failure stays its own. */

const isThenable = (value: unknown): value is PromiseLike<unknown> =>
  typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function";

/** Runs `call`; what it throws, or the promise it returns rejects with, goes to `report` and nowhere else. */
export function callSafely(call: () => unknown, report: (error: unknown) => void): void {
  try {
    const returned = call();
    if (isThenable(returned)) returned.then(undefined, report);
  } catch (error) {
    report(error);
  }
}
