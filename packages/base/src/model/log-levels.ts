/** Levels of the log messages of servers. */
import type { LoggingLevel } from "@modelcontextprotocol/client";

/** In ascending order of severity. */
export const LOG_LEVELS = [
  "debug",
  "info",
  "notice",
  "warning",
  "error",
  "critical",
  "alert",
  "emergency",
] as const satisfies readonly LoggingLevel[];

/** Minimum level of the messages that a server sends. */
export type LogLevel = LoggingLevel;

export const isLogLevel = (level: unknown): level is LogLevel =>
  (LOG_LEVELS as readonly unknown[]).includes(level);
