/** Tries servers again that kept a caller waiting in vain, in the background: no later call waits for them. */
import { AuthError } from "../../errors/auth-error.js";
import type { ToolportError } from "../../errors/toolport-error.js";
import type { ServerReport } from "../../port/report.js";
import type { Toolport } from "../../toolport.js";
import { fullJitterMs } from "../../util/backoff.js";
import { pause } from "../../util/sleep.js";

/** A failure that took longer than this is not worth waiting for a second time. */
const SLOW_MS = 1_000;
const TIMEOUTS = new Set(["CONNECT_TIMEOUT", "TIMEOUT"]);

type Failures = Map<string, ToolportError>;

export class BackgroundRetries {
  readonly #ended = new AbortController();
  /** Servers that are tried in the background, with their last error; every caller's port has its own connections. */
  readonly #failures = new Map<Toolport, Failures>();

  /** Why a server is left out without being asked; undefined: ask it. */
  errorOf(port: Toolport, server: string): ToolportError | undefined {
    return this.#failures.get(port)?.get(server);
  }

  /** Takes over a server that failed, if the failure cost its caller time. */
  note(port: Toolport, server: string, { error, ms }: Pick<ServerReport, "error" | "ms">): void {
    // Another attempt would ask the user to log in again.
    if (error === undefined || error instanceof AuthError) return;
    if (ms < SLOW_MS && !TIMEOUTS.has(error.code)) return;
    const failures: Failures = this.#failures.get(port) ?? new Map();
    this.#failures.set(port, failures);
    if (failures.has(server)) return;
    failures.set(server, error);
    // Attempts end with success, with a login that is needed, or with the port.
    this.#retry(port, server, failures)
      .catch(() => {})
      .finally(() => failures.delete(server));
  }

  /** Ends all attempts; nothing is left behind. */
  stop(): void {
    this.#ended.abort();
  }

  async #retry(port: Toolport, server: string, failures: Failures): Promise<void> {
    const { signal } = this.#ended;
    for (let attempt = 1; ; attempt += 1) {
      await pause(fullJitterMs(attempt), signal);
      const { servers } = await port.connect({ servers: [server], signal });
      const error = servers[server]?.error;
      if (error === undefined || error instanceof AuthError) return;
      failures.set(server, error);
    }
  }
}
