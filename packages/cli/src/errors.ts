/** Errors of the command line: their exit codes, their text and JSON, and the command to try next. */
import {
  AuthError,
  CatalogError,
  ConfigError,
  ConnectionError,
  redactText,
  SuspensionError,
  ToolCallError,
  type ToolCallErrorCode,
  ToolportError,
  toSentence,
} from "@toolport/base";
import { indented, type Paint, plainBlock, plainJson, plainLine, plainText } from "./plain-text.js";
import { shellWord } from "./shell-words.js";

type ErrorDetails = Partial<Pick<CliError, "code" | "exitCode" | "server" | "tool" | "issues">>;

export class CliError extends Error {
  override readonly name = "CliError";
  readonly code: string;
  readonly exitCode: number;
  /** The server and tool that the error concerns. */
  readonly server: string | undefined;
  readonly tool: string | undefined;
  /** Each problem found in what the user gave. */
  readonly issues: readonly unknown[] | undefined;

  /** @param next a complete command line to try */
  constructor(
    message: string,
    readonly next?: string | undefined,
    { code = "USAGE", exitCode = 1, server, tool, issues }: ErrorDetails = {},
  ) {
    super(message);
    this.code = code;
    this.exitCode = exitCode;
    this.server = server;
    this.tool = tool;
    this.issues = issues;
  }
}

/** Wrong usage of a command, whose help says more. */
export const usageError = (command: string, message: string): CliError =>
  new CliError(message, `toolport ${command} --help`);

/** Something that the configuration, or the machine, does not have or does not allow. */
export const configurationError = (code: string, message: string, next?: string, server?: string): CliError =>
  new CliError(message, next, { code, exitCode: EXIT.configuration, server });

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

/** The command was interrupted by a signal. No error message is printed. */
export class Interruption extends CliError {
  constructor(exitCode: number) {
    super("Interrupted", undefined, { code: "INTERRUPTED", exitCode });
  }
}

const SIGNALS = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;

export type SignalName = keyof typeof SIGNALS;

/** The process, or a test double. */
export interface SignalSource {
  on(name: SignalName, listener: () => void): unknown;
  off(name: SignalName, listener: () => void): unknown;
}

export interface SignalWatch {
  /** Its reason is an {@link Interruption}. */
  readonly signal: AbortSignal;
  /** Ends the command as the signal would. A number is the exit code. */
  end(by: SignalName | number): void;
  stop(): void;
}

/** @param onSecond called for every signal after the first */
export function watchSignals(source: SignalSource, onSecond: (exitCode: number) => void): SignalWatch {
  const controller = new AbortController();
  const end = (by: SignalName | number) => {
    const exitCode = typeof by === "number" ? by : SIGNALS[by];
    if (controller.signal.aborted) {
      if (typeof by !== "number") onSecond(exitCode);
    } else controller.abort(new Interruption(exitCode));
  };
  const names = Object.keys(SIGNALS) as SignalName[];
  const listeners = names.map((name) => [name, () => end(name)] as const);
  for (const [name, listener] of listeners) source.on(name, listener);
  return {
    signal: controller.signal,
    end,
    stop() {
      for (const [name, listener] of listeners) source.off(name, listener);
    },
  };
}

/** Servers that the user typed: the suggested command contains what was typed instead of their names. */
interface Typed {
  commandFor(line: string): string;
}

/** The JSON form of an error. JSON leaves out the fields that do not apply. */
export function errorDocument(error: unknown, typed?: Typed | undefined) {
  const nextLine = nextCommand(error);
  const isOurs = ToolportError.isInstance(error);
  const named = isOurs || error instanceof CliError ? error : undefined;
  const connection = error instanceof ConnectionError ? error : undefined;
  const login = error instanceof AuthError ? error : undefined;
  const call = error instanceof ToolCallError ? error : undefined;
  const issues =
    error instanceof ConfigError ? error.issues : error instanceof CliError ? error.issues : call?.issues;
  const suggestions = error instanceof CatalogError ? error.suggestions : [];
  return {
    code: named?.code ?? "UNEXPECTED",
    message: hideTokens(sentence(error)),
    exitCode: exitCodeOf(error),
    /** The command to try next. */
    next: nextLine === undefined ? undefined : hideTokens(typed?.commandFor(nextLine) ?? nextLine),
    server: named?.server,
    tool: named?.tool,
    retryable: isOurs ? error.retryable : undefined,
    /** HTTP status. */
    status: connection?.status ?? login?.status,
    /** Where the user can authorize. */
    authUrl: login?.authUrl,
    /** Known names that are similar to the one that was typed. */
    suggestions: suggestions.length > 0 ? suggestions : undefined,
    /** Each problem found in a file or in arguments. */
    issues: issues === undefined || issues.length === 0 ? undefined : issues,
    /** The phase that timed out. */
    phase: call?.phase,
    processExitCode: connection?.exitCode ?? undefined,
    stderrTail: connection?.stderrTail || undefined,
  };
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
  readonly paint: Paint;
  readonly typed?: Typed | undefined;
}

/** The text for stderr, without the last line break. */
export function formatError(error: unknown, { isJson, isVerbose, paint, typed }: ErrorFormat): string {
  const document = errorDocument(error, typed);
  if (isJson) return plainJson({ error: document });
  const { code, message, server, tool, next, stderrTail } = document;
  // The message of a `CliError` already names the server.
  const isNamed = server === undefined || error instanceof CliError;
  const who = isNamed ? "" : plainLine(tool === undefined ? `${server}: ` : `${server}.${tool}: `);
  const lines = [`${paint("red", "error:")} ${plainBlock(`${who}${message} (${code})`)}`];
  if (stderrTail !== undefined) {
    lines.push("The program wrote:");
    lines.push(...plainText(stderrTail).trimEnd().split("\n").slice(-10).map(indented));
  }
  if (isVerbose && error instanceof Error && error.stack !== undefined)
    lines.push(paint("dim", plainText(redactText(error.stack))));
  if (next !== undefined) lines.push(`Try: ${paint("bold", plainLine(next))}`);
  return lines.join("\n");
}

/** A complete command line; undefined only after an interruption. */
export function nextCommand(error: unknown): string | undefined {
  if (error instanceof Interruption) return undefined;
  if (error instanceof CliError) return error.next ?? "toolport --help";
  if (!ToolportError.isInstance(error)) return "toolport doctor";
  const { server, tool } = error;
  if (error instanceof AuthError) return commandOf("auth", server);
  if (error instanceof CatalogError) return afterCatalogError(error);
  if (error instanceof SuspensionError) return afterSuspensionError(error);
  if (error instanceof ConfigError)
    return error.code === "UNKNOWN_SERVER" ? "toolport list" : commandOf("doctor", server);
  if (error instanceof ToolCallError) {
    if (error.code === "TIMEOUT" || error.code === "FALLBACK_EXHAUSTED") return commandOf("doctor", server);
    // Without a tool, the invalid arguments belong to a prompt.
    if (error.code === "INVALID_ARGUMENTS" && server !== undefined)
      return tool === undefined ? commandOf("prompts", server) : commandOf("tools", `${server}.${tool}`);
    if (server !== undefined) return `toolport inspect ${shellWord(server)} --raw`;
  }
  return commandOf("doctor", server);
}

function afterCatalogError({ code, server, suggestions: [close] }: CatalogError): string {
  if (code === "TOOL_NOT_FOUND") return commandOf("tools", close ?? server);
  if (code === "RESOURCE_NOT_FOUND") return commandOf("resources", server);
  if (code === "PROMPT_NOT_FOUND") return commandOf("prompts", server);
  const isUnread = code === "DISCOVERY_FAILED";
  if (server === undefined) return isUnread ? "toolport doctor" : "toolport list";
  return `${commandOf("inspect", server)}${isUnread ? " --raw" : ""}`;
}

function afterSuspensionError({ code, server, tool }: SuspensionError): string {
  switch (code) {
    case "SUSPENSION_UNKNOWN":
      return "toolport suspended";
    case "SUSPENSION_EXPIRED":
      return "toolport resume - --restart";
    case "KEY_REUSED":
      return "toolport call --help";
    case "SUSPENSION_MOVED":
      return commandOf("list", server);
    case "OUTCOME_UNKNOWN":
      return commandOf("tools", tool);
    default:
      return commandOf("doctor", server);
  }
}

const commandOf = (command: string, word: string | undefined): string =>
  `toolport ${command}${word === undefined ? "" : ` ${shellWord(word)}`}`;
