/** Retries servers that failed slowly in the background, so that later calls do not wait for them. */

import type { ReconnectOptions } from "../../config/server-entry.js";
import { AuthError, type ToolportError } from "../../errors/toolport-error.js";
import type { ServerReport } from "../../port/report.js";
import type { Toolport } from "../../toolport.js";
import { fullJitterMs, pause } from "../../util/timers.js";

/** After a failure that took longer than this, callers do not wait for the server again. */
const SLOW_MS = 1_000;
const TIMEOUTS = new Set(["CONNECT_TIMEOUT", "TIMEOUT"]);

type Failures = Map<string, ToolportError>;

interface Retry {
  readonly port: Toolport;
  readonly server: string;
  readonly failures: Failures;
  readonly maxAttempts: number;
}

export class BackgroundRetries {
  readonly #ended = new AbortController();
  /** Servers that are tried in the background, with their last error; every caller's port has its own connections. */
  readonly #failures = new Map<Toolport, Failures>();

  /** Why a server is skipped; undefined if it should be connected. */
  errorOf(port: Toolport, server: string): ToolportError | undefined {
    return this.#failures.get(port)?.get(server);
  }

  /** Retries a server in the background, if its failure was slow and its entry allows it. */
  note(
    port: Toolport,
    server: string,
    { error, ms }: Pick<ServerReport, "error" | "ms">,
    // The option has two names, by transport.
    { restart, reconnect = {} }: { restart?: ReconnectOptions; reconnect?: ReconnectOptions },
  ): void {
    const { enabled = true, maxAttempts = Number.POSITIVE_INFINITY } = restart ?? reconnect;
    // Another attempt would ask the user to log in again.
    if (error === undefined || error instanceof AuthError) return;
    if (ms < SLOW_MS && !TIMEOUTS.has(error.code)) return;
    const failures: Failures = this.#failures.get(port) ?? new Map();
    this.#failures.set(port, failures);
    if (failures.has(server) || !enabled) return;
    failures.set(server, error);
    // Attempts end with success, when they are used up, when a login is required, or when the port closes.
    this.#retry({ port, server, failures, maxAttempts })
      .catch(() => {})
      .finally(() => failures.delete(server));
  }

  /** Ends all attempts. */
  stop(): void {
    this.#ended.abort();
  }

  async #retry({ port, server, failures, maxAttempts }: Retry): Promise<void> {
    const { signal } = this.#ended;
    for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
      await pause(fullJitterMs(attempt), signal);
      const { servers } = await port.connect({ servers: [server], signal });
      const error = servers[server]?.error;
      if (error === undefined || error instanceof AuthError) return;
      failures.set(server, error);
    }
  }
}
