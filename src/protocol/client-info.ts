/** How Toolport introduces itself to servers. */

/** Kept equal to package.json by a test. */
export const CLIENT_INFO = { name: "toolport", version: "0.1.0" } as const;
