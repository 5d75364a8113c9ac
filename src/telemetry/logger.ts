/** Where Toolport writes what it has to say: the caller's logger, and `DEBUG=toolport:*`. */
import { callSafely } from "../util/call-safely.js";

/** Anything with these four methods: `console`, pino, winston … */
export interface Logger {
  debug(message: string, details?: unknown): void;
  info(message: string, details?: unknown): void;
  warn(message: string, details?: unknown): void;
  error(message: string, details?: unknown): void;
}

/** Says nothing. A library is silent until it is asked. */
export const silentLogger: Logger = { debug() {}, info() {}, warn() {}, error() {} };

/** A logger that throws must not take a connection down with it. */
export function guardLogger(logger: Logger): Logger {
  const guarded = (level: keyof Logger) => (message: string, details?: unknown) => {
    // There is nowhere left to report it.
    callSafely(
      () => logger[level](message, details),
      () => {},
    );
  };
  return { debug: guarded("debug"), info: guarded("info"), warn: guarded("warn"), error: guarded("error") };
}
