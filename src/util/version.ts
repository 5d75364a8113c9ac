/** Name and version of this package. */

/** Equal to the version in package.json; a test compares them. */
export const VERSION = "0.2.0";

/** How Toolport identifies itself to servers. */
export const CLIENT_INFO = { name: "toolport", version: VERSION } as const;
