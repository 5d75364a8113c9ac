/** Whether what a server answered may be given to other users than the one who asked. */

/**
 * Only if the server says so: without the field an answer is private.
 *
 * @param result an answer of a server that speaks 2026-07-28: earlier revisions do not have the field
 */
export const isPublic = (result: Readonly<Record<string, unknown>>): boolean =>
  result["cacheScope"] === "public";
