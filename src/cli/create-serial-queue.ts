/** A queue that runs one asynchronous function at a time. */

/**
 * Each function starts when the previous one has settled.
 *
 * @example
 * ```ts
 * const enqueue = createSerialQueue();
 * await Promise.all([enqueue(() => ask("Name? ")), enqueue(() => ask("Age? "))]);
 * ```
 */
export function createSerialQueue(): <Result>(run: () => Promise<Result>) => Promise<Result> {
  let last: Promise<unknown> = Promise.resolve();
  return (run) => {
    const mine = last.then(run);
    last = mine.catch(() => {});
    return mine;
  };
}
