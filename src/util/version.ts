/** The version of this package. */

/** Equal to package.json (a test compares them). */
export const VERSION = "0.1.0";

export const CLIENT_INFO = { name: "toolport", version: VERSION } as const;
