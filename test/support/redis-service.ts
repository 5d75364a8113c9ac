/** A real Redis for one test file. */
import { Redis } from "ioredis";
import { findProgram, type LocalService, mayBeSkipped, startLocalService } from "./local-service.js";

const PASSWORD = "redis-canary-7f3a";
const program = findProgram("redis-server");

/** True if there is no Redis here and none is required: the suite names itself as skipped. */
export const withoutRedis = mayBeSkipped(program);

export interface RedisService extends LocalService {
  /** With the password in it. */
  readonly url: string;
  readonly password: string;
  /** A plain connection of the test's own; the test closes it. */
  connect(): Redis;
}

/** Starts a Redis that keeps every write on disk, so that it comes back with its data; or a cluster of one node. */
export async function startRedis({ isCluster = false } = {}): Promise<RedisService> {
  if (program === undefined)
    throw new Error("redis-server was not found, and TOOLPORT_REQUIRE_SERVICES is set");
  const url = (port: number) => `redis://:${PASSWORD}@127.0.0.1:${port}/0`;
  const service = await startLocalService({
    name: "redis",
    command: program,
    args: (port, folder) => [
      ...["--port", String(port), "--bind", "127.0.0.1", "--dir", folder, "--requirepass", PASSWORD],
      ...["--save", "", "--appendonly", "yes", "--appendfsync", "always", "--loglevel", "warning"],
      // A node that never met another does not know its own address.
      ...(isCluster ? ["--cluster-enabled", "yes", "--cluster-announce-ip", "127.0.0.1"] : []),
    ],
    async isReady(port) {
      const client = new Redis(url(port), { lazyConnect: true, retryStrategy: () => null });
      client.on("error", () => {});
      try {
        return (await client.ping()) === "PONG";
      } finally {
        client.disconnect();
      }
    },
  });
  return {
    ...service,
    url: url(service.port),
    password: PASSWORD,
    connect: () => new Redis(url(service.port)).on("error", () => {}),
  };
}
