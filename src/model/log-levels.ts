/** How serious a log message of a server's can be. */
import type { LoggingLevel } from "@modelcontextprotocol/client";

/** From the least to the most serious. */
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

/** How serious a message must be for a server to send it. */
export type LogLevel = LoggingLevel;

/** Whether a server's word is one of them. */
export const isLogLevel = (level: unknown): level is LogLevel =>
  (LOG_LEVELS as readonly unknown[]).includes(level);
