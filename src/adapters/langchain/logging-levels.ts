/** Requests log messages from servers, as each era requires, and again after every reconnect. */
import type { LoggingLevel } from "@modelcontextprotocol/client";
import type { Toolport } from "../../toolport.js";

/** In the modern era, every request contains the level. */
const LOG_LEVEL_META = "io.modelcontextprotocol/logLevel";

export class LoggingLevels {
  readonly #toolport: Toolport;
  readonly #levels = new Map<string, LoggingLevel>();

  constructor(toolport: Toolport) {
    this.#toolport = toolport;
    toolport.on("state", ({ server, to, principal }) => {
      const level = this.#levels.get(server);
      if (to !== "ready" || principal !== undefined || level === undefined) return;
      // A new connection starts without a level. If setting it fails, only log messages are missing.
      this.#sendLevel(server, level).catch(() => {});
    });
  }

  async set(server: string, level: LoggingLevel): Promise<void> {
    this.#levels.set(server, level);
    await this.#sendLevel(server, level);
  }

  /** `_meta` for a call of a server. */
  metaOf(server: string): Readonly<Record<string, unknown>> | undefined {
    const level = this.#levels.get(server);
    return level === undefined ? undefined : { [LOG_LEVEL_META]: level };
  }

  async #sendLevel(server: string, level: LoggingLevel): Promise<void> {
    const { era, capabilities } = this.#toolport.snapshot().servers[server] ?? {};
    if (era !== "legacy" || capabilities?.["logging"] === undefined) return;
    await (await this.#toolport.client(server)).setLoggingLevel(level);
  }
}
