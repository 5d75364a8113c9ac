/** Where Toolport writes what it has to say: the caller's logger, and `DEBUG=toolport:*`. */
import { type DropObserver, OrderedCallback } from "../util/ordered-callback.js";
import { visibleLine } from "../util/visible-text.js";

/** Anything with these four methods: `console`, pino, winston … */
export interface Logger {
  debug(message: string, details?: unknown): void;
  info(message: string, details?: unknown): void;
  warn(message: string, details?: unknown): void;
  error(message: string, details?: unknown): void;
}

/** Says nothing. A library is silent until it is asked. */
export const silentLogger: Logger = { debug() {}, info() {}, warn() {}, error() {} };

interface Line {
  readonly level: keyof Logger;
  readonly message: string;
  readonly details: unknown;
}

/**
 * Messages are one line each, with nothing hidden in it: they quote servers, and a tool's name must not look like another
 * message. A logger that throws must not break a connection, and one that returns promises gets its lines one at a time.
 */
export function guardLogger(logger: Logger, drops?: DropObserver): Logger {
  const lines = new OrderedCallback<Line>(
    ({ level, message, details }) => logger[level](visibleLine(message), details),
    {
      // There is nowhere left to report it.
      report() {},
      ...drops,
    },
  );
  const guarded = (level: keyof Logger) => (message: string, details?: unknown) =>
    lines.call({ level, message, details });
  return { debug: guarded("debug"), info: guarded("info"), warn: guarded("warn"), error: guarded("error") };
}
