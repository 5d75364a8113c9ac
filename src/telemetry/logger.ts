/** The logger interface, and protection against loggers that fail. */
import { type DropObserver, OrderedCallback } from "../util/callbacks.js";
import { visibleLine } from "../util/visible-text.js";

/** Anything with these four methods: `console`, pino, winston … */
export interface Logger {
  debug(message: string, details?: unknown): void;
  info(message: string, details?: unknown): void;
  warn(message: string, details?: unknown): void;
  error(message: string, details?: unknown): void;
}

/** The default: logs nothing. */
export const silentLogger: Logger = { debug() {}, info() {}, warn() {}, error() {} };

interface Line {
  readonly level: keyof Logger;
  readonly message: string;
  readonly details: unknown;
}

/**
 * Wraps a logger. Messages become one line without hidden characters: they quote servers, and the name of a tool must not fake
 * another message. Failures of the logger are ignored. A logger that returns promises gets one message at a time.
 */
export function guardLogger(logger: Logger, drops?: DropObserver): Logger {
  const lines = new OrderedCallback<Line>(
    ({ level, message, details }) => logger[level](visibleLine(message), details),
    {
      // The logger itself failed: there is no other place to report it.
      report() {},
      ...drops,
    },
  );
  const guarded = (level: keyof Logger) => (message: string, details?: unknown) =>
    lines.call({ level, message, details });
  return { debug: guarded("debug"), info: guarded("info"), warn: guarded("warn"), error: guarded("error") };
}
