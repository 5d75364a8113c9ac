/** Errors of a connection that has no session. */
import type { ServerConfig } from "../config/server-config.js";
import type { ToolportError } from "../errors/toolport-error.js";
import { ConfigError, ConnectionError, ToolCallError } from "../errors/toolport-error.js";
import { slowStart } from "../protocol/handshake.js";

/** The server was disconnected by the program, or is disabled. */
export function serverDown({ name, enabled }: ServerConfig): ConnectionError {
  return new ConnectionError({
    code: "CLOSED",
    server: name,
    what: enabled ? "The server is disconnected" : "The server is disabled in the configuration",
    next: enabled ? `Call connectServer(${JSON.stringify(name)}) first` : "Set enabled to true",
    outcome: "unsent",
  });
}

/** The server was restored from the store without all the fields it needs. */
export function serverBlocked({ name, blocked }: ServerConfig): ConfigError {
  return new ConfigError({
    code: "INVALID_CONFIG",
    server: name,
    what: `The server was restored from the store, but ${blocked}`,
    next: `Add it again: add(${JSON.stringify(name)}, …)`,
    outcome: "unsent",
  });
}

/** The server was lost and is not connected again yet, and the caller does not want to wait. */
export function serverAway(server: string, error: ToolportError | undefined): ConnectionError {
  return new ConnectionError({
    code: "UNREACHABLE",
    server,
    what:
      error === undefined
        ? "The server was lost and is not connected again yet"
        : `The server is unreachable: ${error.what}`,
    retryable: true,
    outcome: "unsent",
    cause: error,
  });
}

/** The server was not ready within the time limit of the caller. */
export function notReady(
  config: ServerConfig,
  {
    timeoutMs = 0,
    status,
    cause,
  }: { timeoutMs: number | undefined; status: string; cause: ToolportError | undefined },
): ToolCallError {
  const why = cause === undefined ? "" : `: ${cause.what}`;
  return new ToolCallError({
    code: "TIMEOUT",
    server: config.name,
    phase: "connect",
    what: `The server was not ready within ${Math.round(timeoutMs)} ms (${status})${why}`,
    next: cause?.next ?? `Raise timeoutMs (--timeout on the command line)${slowStart(config)}`,
    retryable: true,
    outcome: "unsent",
    cause,
  });
}

/** The server closed the connection without an error. */
export function closedByServer(server: string): ConnectionError {
  return new ConnectionError({
    code: "CLOSED",
    server,
    what: "The server closed the connection",
    retryable: true,
  });
}
