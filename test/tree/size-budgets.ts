/** Limits on what loads at start. `docs/performance.md` names them too. */

/**
 * Entry, maximum files, maximum kilobytes, maximum kilobytes compressed. A commit that raises a limit says why. Line breaks and
 * indentation are a fifth of the size; they keep the output of uncaught errors short and do not change the import time.
 */
export const BUDGETS = [
  ["index.js", 4, 572, 166],
  ["index.cjs", 4, 596, 168],
  ["cli/main.js", 4, 63, 21],
] as const;
