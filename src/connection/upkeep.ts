/** What runs in the background when asked for: health checks, and the end of idle connections. */
import type { ConnectionPool } from "./connection-pool.js";
import type { ServerConnection } from "./server-connection.js";

export interface UpkeepOptions {
  healthCheckMs: number | undefined;
  idleTimeoutMs: number | undefined;
}

/** Starts the timers (none keeps the process alive) and returns what stops them. */
export function startUpkeep(
  pool: ConnectionPool,
  { healthCheckMs, idleTimeoutMs }: UpkeepOptions,
): () => void {
  const timers: ReturnType<typeof setInterval>[] = [];
  const every = (ms: number, task: (connection: ServerConnection) => void) => {
    const timer = setInterval(() => pool.all().forEach(task), ms);
    if (typeof timer === "object") timer.unref?.();
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

/** Pings a server that is ready, and tries once more to connect one that failed. */
async function checkHealth(connection: ServerConnection): Promise<void> {
  if (connection.state.status !== "failed") return connection.checkHealth();
  // The error is in the connection's state.
  await connection.connect().catch(() => {});
}
