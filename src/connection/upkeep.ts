/** What goes on in the background when asked for: signs of life, and the end of idle connections. */
import { toToolportError } from "../errors/to-toolport-error.js";
import type { ConnectionPool } from "./connection-pool.js";
import type { ServerConnection } from "./server-connection.js";

/** How long a server may take to show that it lives. */
const PING_TIMEOUT_MS = 10_000;

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
      if (connection.idleMs >= idleTimeoutMs) connection.disconnect("idleness").catch(() => {});
    });
  }
  return () => timers.forEach(clearInterval);
}

async function checkHealth(connection: ServerConnection): Promise<void> {
  const { session } = connection;
  try {
    if (session !== undefined)
      await session.ping({ timeoutMs: PING_TIMEOUT_MS, maxTimeoutMs: PING_TIMEOUT_MS });
    else if (connection.state.status === "failed") await connection.connect();
  } catch (error) {
    if (session !== undefined) connection.renew(session, toToolportError(error, { server: connection.name }));
  }
}
