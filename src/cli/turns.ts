/** Runs one after the other what was asked for at the same time. */

/**
 * Makes a queue: each run begins when the one before it has ended, in whatever way.
 *
 * @example
 * ```ts
 * const inTurn = createTurns();
 * await Promise.all([inTurn(() => ask("Name? ")), inTurn(() => ask("Age? "))]);
 * ```
 */
export function createTurns(): <Result>(run: () => Promise<Result>) => Promise<Result> {
  let last: Promise<unknown> = Promise.resolve();
  return (run) => {
    const mine = last.then(run);
    last = mine.catch(() => {});
    return mine;
  };
}
