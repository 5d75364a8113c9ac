/** Opens a shared store from a description that fits on a command line. */

/** @param {{ kind: string, url: string, namespace: string, key: string }} place */
export async function openHostStore({ kind, url, namespace, key }) {
  if (kind === "sqlite") {
    const { sqliteStore } = await import("toolport/sqlite");
    return sqliteStore(url, { key });
  }
  if (kind === "redis") {
    const { redisStore } = await import("toolport/redis");
    return redisStore(url, { key, prefix: `{${namespace}}:` });
  }
  const { postgresStore } = await import("toolport/postgres");
  return postgresStore(url, { key, schema: namespace });
}
