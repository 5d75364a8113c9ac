/** Log messages of servers: to the caller's function, or to the port's logger. */
import type { LoggingLevel } from "@modelcontextprotocol/client";
import type { Logger } from "../../telemetry/logger.js";
import { redactText } from "../../util/redact-text.js";

/** One log message of a server. Its data come from outside: show them with care. */
export interface ServerLogEntry {
  /** Name of the server, as configured. */
  readonly server: string;
  readonly level: LoggingLevel;
  /** The part of the server that speaks. */
  readonly logger?: string | undefined;
  readonly data: unknown;
}

/**
 * Gets every log message of every server. If it returns promises, the messages come one at a time, and when 1,000 wait, the
 * oldest are dropped with a warning.
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

/** Writes log messages of servers to a logger of ours: one line each, without secrets and control characters. */
export function logToLogger(logger: Logger): ServerLogListener {
  return ({ server, level, logger: part, data }) => {
    const text = typeof data === "string" ? data : (JSON.stringify(data) ?? "");
    const who = part === undefined ? server : `${server}/${redactText(part)}`;
    logger[METHODS[level] ?? "error"](`[${who}] ${redactText(text)}`);
  };
}
