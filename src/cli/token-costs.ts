/** How the command line shows what the definitions of tools cost in tokens. */

/** Definitions that take more are worth deferring. `deferTools: { mode: "auto" }` has the same limit. */
export const COSTLY_TOKENS = 10_000;

/** An estimated number of tokens: `~12,345`. */
export const about = (tokens: number): string => `~${tokens.toLocaleString("en")}`;
