/** Log messages of servers: the option `onLog`, and its default that writes to the logger. */
import type { LoggingLevel } from "@modelcontextprotocol/client";
import type { Logger } from "../../telemetry/logger.js";
import { redactText } from "../../util/redact-text.js";

/** One log message of a server. Its data is untrusted: escape it before display. */
export interface ServerLogEntry {
  /** Name of the server, as configured. */
  readonly server: string;
  readonly level: LoggingLevel;
  /** The component of the server that logs. */
  readonly logger?: string | undefined;
  readonly data: unknown;
}

/**
 * Receives every log message of every server. If it returns promises, messages are delivered one at a time; when more than
 * 1,000 wait, the oldest are dropped with a warning.
 *
 * @example
 * ```ts
 * const onLog: ServerLogListener = ({ server, level, data }) => console.error(server, level, data);
 * ```
 */
export type ServerLogListener = (entry: ServerLogEntry) => unknown;

const METHODS: Readonly<Record<string, keyof Logger>> = {
  debug: "debug",
  info: "info",
  notice: "info",
  warning: "warn",
};

/** Writes log messages of servers to the logger: one line each, without secrets and control characters. */
export function logToLogger(logger: Logger): ServerLogListener {
  return ({ server, level, logger: part, data }) => {
    const text = typeof data === "string" ? data : (JSON.stringify(data) ?? "");
    const source = part === undefined ? server : `${server}/${redactText(part)}`;
    logger[METHODS[level] ?? "error"](`[${source}] ${redactText(text)}`);
  };
}
