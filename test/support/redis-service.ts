/** A real Redis for one test file. */
import { Redis } from "ioredis";
import { findProgram, type LocalService, mayBeSkipped, startLocalService } from "./local-service.js";

const PASSWORD = "redis-canary-7f3a";
const program = findProgram("redis-server");

/** True if Redis is not installed and not required: the suite is skipped by name. */
export const withoutRedis = mayBeSkipped(program);

export interface RedisService extends LocalService {
  /** Contains the password. */
  readonly url: string;
  readonly password: string;
  /** Opens a plain connection, which the test closes. */
  connect(): Redis;
}

/** Starts a Redis that saves every write to disk, so that data survives a restart; or a cluster of one node. */
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
      // A single node does not know its own address.
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
