/** Opens the store that the replicas of a gateway share. */
import type { Store } from "../../state/store.js";
import { CliError } from "../cli-error.js";
import { EXIT } from "../exit-codes.js";

/** @param url `redis://…`, `rediss://…`, `postgres://…` or `postgresql://…`. It may contain a password, so no message shows it */
export async function openSharedStore(url: string): Promise<Store> {
  const [scheme] = url.split(":", 1);
  switch (scheme) {
    case "redis":
    case "rediss":
      return (await import("../../state/stores/redis/index.js")).redisStore(url);
    case "postgres":
    case "postgresql":
      return (await import("../../state/stores/postgres/index.js")).postgresStore(url);
    default:
      throw new CliError({
        exitCode: EXIT.configuration,
        message: "--store must be the URL of a Redis or a PostgreSQL: redis://… or postgres://…",
        next: "toolport serve --help",
      });
  }
}
