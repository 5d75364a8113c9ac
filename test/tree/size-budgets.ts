/** Limits on what loads at start. `docs/performance.md` names them too. */

/**
 * Entry, maximum files, maximum kilobytes, maximum kilobytes compressed. A commit that raises a limit says why. Line breaks and
 * indentation are a fifth of the size; they keep the output of uncaught errors short and do not change the import time.
 */
export const BUDGETS = [
  ["index.js", 4, 475, 140],
  ["index.cjs", 4, 495, 141],
  ["cli/main.js", 4, 63, 21],
] as const;

/**
 * A Worker that calls a tool, bundled to one minified file as `wrangler deploy --minify` does it: maximum kilobytes, and compressed. Two
 * thirds are packages of others.
 */
export const WORKER_BUDGET = { kilobytes: 1_150, packedKilobytes: 360 };
