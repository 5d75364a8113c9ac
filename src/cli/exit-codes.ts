/** Exit codes of the command line. Scripts rely on them: never change their meaning. */
import { AuthError } from "../errors/auth-error.js";
import { ConfigError } from "../errors/config-error.js";
import { ConnectionError } from "../errors/connection-error.js";
import { ToolCallError, type ToolCallErrorCode } from "../errors/tool-call-error.js";
import { ToolportError } from "../errors/toolport-error.js";
import { CliError } from "./cli-error.js";

export const EXIT = {
  ok: 0,
  /** Wrong usage, and errors without a code of their own. */
  other: 1,
  configuration: 2,
  authorization: 3,
  unreachable: 4,
  /** The tool ran and reported an error. */
  toolError: 5,
  /** The call waits for a person. */
  suspended: 6,
} as const;

const NO_ANSWER: readonly ToolCallErrorCode[] = ["TIMEOUT", "FALLBACK_EXHAUSTED"];

/** Maps an error to an exit code. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof CliError) return error.exitCode;
  if (error instanceof ConfigError) return EXIT.configuration;
  if (error instanceof AuthError) return EXIT.authorization;
  if (error instanceof ConnectionError) return EXIT.unreachable;
  if (error instanceof ToolCallError && NO_ANSWER.includes(error.code)) return EXIT.unreachable;
  // An aggregate error has the exit code of its first error.
  const [first] = ToolportError.isInstance(error) ? error.errors : [];
  return first === undefined ? EXIT.other : exitCodeOf(first);
}
