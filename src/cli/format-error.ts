/** Formats an error as text, or as one line of JSON with `--json`. Both contain the command to try next. */
import { AuthError } from "../errors/auth-error.js";
import { CatalogError } from "../errors/catalog-error.js";
import { ConfigError } from "../errors/config-error.js";
import { ConnectionError } from "../errors/connection-error.js";
import { SuspensionError } from "../errors/suspension-error.js";
import { ToolCallError } from "../errors/tool-call-error.js";
import { ToolportError, toSentence } from "../errors/toolport-error.js";
import { redactText } from "../util/redact-text.js";
import { CliError } from "./cli-error.js";
import type { TypedServers } from "./command-context.js";
import { exitCodeOf } from "./exit-codes.js";
import { nextCommand } from "./next-command.js";
import { indented, plainBlock, plainJson, plainLine, plainText } from "./plain-text.js";

/** The JSON form of an error. Fields that do not apply are absent. */
export interface ErrorDocument {
  readonly code: string;
  readonly message: string;
  readonly exitCode: number;
  readonly server?: string;
  readonly tool?: string;
  /** The command to try next. */
  readonly next?: string;
  readonly retryable?: boolean;
  /** HTTP status. */
  readonly status?: number;
  /** Where the user can authorize. */
  readonly authUrl?: string;
  /** Known names that are similar to the one given. */
  readonly suggestions?: readonly string[];
  /** Each problem found in a file or in arguments. */
  readonly issues?: readonly unknown[];
  readonly processExitCode?: number;
  readonly stderrTail?: string;
  /** The phase that timed out. */
  readonly phase?: string;
}

/** @param typed servers that the user typed: the suggested command contains what was typed instead of their names */
export function errorDocument(error: unknown, typed?: TypedServers | undefined): ErrorDocument {
  const nextLine = nextCommand(error);
  const next = nextLine === undefined ? undefined : hideTokens(typed?.commandFor(nextLine) ?? nextLine);
  const common = {
    message: hideTokens(sentence(error)),
    exitCode: exitCodeOf(error),
    ...(next !== undefined && { next }),
  };
  const isOurs = ToolportError.isInstance(error);
  if (!isOurs && !(error instanceof CliError)) return { code: "UNEXPECTED", ...common };
  const { code, server, tool } = error;
  return {
    code,
    ...common,
    ...(server !== undefined && { server }),
    ...(tool !== undefined && { tool }),
    ...(isOurs
      ? { retryable: error.retryable, ...details(error) }
      : error.issues !== undefined && { issues: error.issues }),
  };
}

function details(error: ToolportError): Partial<ErrorDocument> {
  if (error instanceof ConfigError && error.issues.length > 0) return { issues: error.issues };
  if (error instanceof ToolCallError && error.issues !== undefined) return { issues: error.issues };
  if (error instanceof ToolCallError && error.phase !== undefined) return { phase: error.phase };
  if (error instanceof CatalogError && error.suggestions.length > 0)
    return { suggestions: error.suggestions };
  if (error instanceof AuthError || error instanceof ConnectionError) {
    const { status } = error;
    const authUrl = error instanceof AuthError ? error.authUrl : undefined;
    const [processExitCode, stderrTail] =
      error instanceof ConnectionError ? [error.exitCode ?? undefined, error.stderrTail || undefined] : [];
    return {
      ...(status !== undefined && { status }),
      ...(authUrl !== undefined && { authUrl }),
      ...(processExitCode !== undefined && { processExitCode }),
      ...(stderrTail !== undefined && { stderrTail }),
    };
  }
  return {};
}

/** The message of the error. Advice about API methods is left out, because `next` names a command instead. */
function sentence(error: unknown): string {
  if (error instanceof CliError) return error.message;
  if (!ToolportError.isInstance(error))
    return redactText(error instanceof Error ? error.message : String(error));
  const { what, next } = error;
  if (error instanceof SuspensionError && error.code === "OUTCOME_UNKNOWN")
    return `${toSentence(what)} Find out whether it did; resume --again and call --idempotent send it once more`;
  const isForPrograms =
    (error instanceof CatalogError && error.suggestions.length === 0) ||
    error instanceof AuthError ||
    (error instanceof SuspensionError && ["SUSPENSION_UNKNOWN", "SUSPENSION_EXPIRED"].includes(error.code)) ||
    (error instanceof ConfigError && error.code === "UNKNOWN_SERVER");
  return next === undefined || isForPrograms ? what : `${toSentence(what)} ${next}`;
}

/** The token of a suspended call is a secret, also where the user typed it in the wrong place. */
const hideTokens = (text: string): string => text.replace(/tp[cp]1\.[\w-]{8,}/g, "[redacted]");

interface ErrorFormat {
  readonly isJson: boolean;
  readonly isVerbose: boolean;
  readonly paint: (colour: "red" | "bold" | "dim", text: string) => string;
  readonly typed?: TypedServers | undefined;
}

/** The text for stderr, without the last line break. */
export function formatError(error: unknown, { isJson, isVerbose, paint, typed }: ErrorFormat): string {
  const document = errorDocument(error, typed);
  if (isJson) return plainJson({ error: document });
  const { code, message, server, tool, next, stderrTail } = document;
  // The message of a `CliError` already names the server.
  const who =
    server === undefined || error instanceof CliError
      ? ""
      : `${tool === undefined ? server : `${server}.${tool}`}: `;
  const lines = [`${paint("red", "error:")} ${plainBlock(`${plainLine(who)}${message} (${code})`)}`];
  if (stderrTail !== undefined) {
    lines.push("The program wrote:");
    lines.push(...plainText(stderrTail).trimEnd().split("\n").slice(-10).map(indented));
  }
  if (isVerbose && error instanceof Error && error.stack !== undefined)
    lines.push(paint("dim", plainText(redactText(error.stack))));
  if (next !== undefined) lines.push(`Try: ${paint("bold", plainLine(next))}`);
  return lines.join("\n");
}
