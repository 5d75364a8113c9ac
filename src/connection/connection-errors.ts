/** What a connection says when it has no session to give. */
import type { ServerConfig } from "../config/server-config.js";
import { ConfigError } from "../errors/config-error.js";
import { ConnectionError } from "../errors/connection-error.js";

/** It was put down on purpose. */
export function serverDown({ name, enabled }: ServerConfig): ConnectionError {
  return new ConnectionError({
    code: "CLOSED",
    server: name,
    what: enabled ? "The server is disconnected" : "The server is disabled in the configuration",
    next: enabled ? `Call connectServer(${JSON.stringify(name)}) first` : "Set enabled to true",
    outcome: "unsent",
  });
}

/** It came back from the store without all that it needs. */
export function serverBlocked({ name, blocked }: ServerConfig): ConfigError {
  return new ConfigError({
    code: "INVALID_CONFIG",
    server: name,
    what: `The server was restored from the store, but ${blocked}`,
    next: `Add it again: add(${JSON.stringify(name)}, …)`,
    outcome: "unsent",
  });
}

/** It ended the connection without a word. */
export function closedByServer(server: string): ConnectionError {
  return new ConnectionError({
    code: "CLOSED",
    server,
    what: "The server closed the connection",
    retryable: true,
  });
}
