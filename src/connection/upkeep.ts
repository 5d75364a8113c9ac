/** Background work that options turn on: health checks, and closing idle connections. */

import { unrefTimer } from "../util/timers.js";
import type { ConnectionPool } from "./connection-pool.js";
import type { ServerConnection } from "./server-connection.js";

export interface UpkeepOptions {
  healthCheckMs: number | undefined;
  idleTimeoutMs: number | undefined;
}

/** Starts the timers, which do not keep the process alive, and returns a function that stops them. */
export function startUpkeep(
  pool: Pick<ConnectionPool, "created">,
  { healthCheckMs, idleTimeoutMs }: UpkeepOptions,
): () => void {
  const timers: ReturnType<typeof setInterval>[] = [];
  const every = (ms: number, task: (connection: ServerConnection) => void) => {
    const timer = unrefTimer(setInterval(() => pool.created().forEach(task), ms));
    timers.push(timer);
  };
  if (healthCheckMs !== undefined) every(healthCheckMs, (connection) => void checkHealth(connection));
  if (idleTimeoutMs !== undefined) {
    every(Math.max(50, idleTimeoutMs / 4), (connection) => {
      const isIdle = connection.session !== undefined && connection.usage.idleMs >= idleTimeoutMs;
      if (isIdle) connection.disconnect("idleness").catch(() => {});
    });
  }
  return () => timers.forEach(clearInterval);
}

/** Pings a ready server, and tries to connect a failed one again, which counts as an attempt. */
async function checkHealth(connection: ServerConnection): Promise<void> {
  if (connection.state.status !== "failed") return connection.checkHealth();
  // The state of the connection contains the error.
  await connection.connect().catch(() => {});
}
