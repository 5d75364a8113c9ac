/** The logger, debug channels, the levels of servers, and what shows messages as they are sent. */
import type { LoggingLevel } from "@modelcontextprotocol/client";
import { type DropObserver, OrderedCallback } from "../util/callbacks.js";
import { compileNames } from "../util/glob.js";
import { redactText } from "../util/redact-text.js";
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

/** The channels of Toolport. */
type ChannelName = "connection" | "catalog" | "call" | "auth" | "wire";

interface DebugChannel {
  /** Check this before building an expensive message. */
  readonly enabled: boolean;
  (message: string): void;
}

/** Whether a `DEBUG` value (`a,b:*,-b:c`) names this channel. */
export function isChannelEnabled(name: string, patterns: string | undefined): boolean {
  if (!patterns) return false;
  let enabled = false;
  for (const pattern of patterns.split(/[\s,]+/).filter(Boolean)) {
    const negative = pattern.startsWith("-");
    const matches = compileNames([negative ? pattern.slice(1) : pattern])(name);
    if (matches && negative) return false;
    enabled ||= matches;
  }
  return enabled;
}

/** Channel names of `@langchain/mcp-adapters`. None includes `wire`. */
const ALIASES: Readonly<Partial<Record<ChannelName, readonly string[]>>> = {
  connection: ["@langchain/mcp-adapters:client", "@langchain/mcp-adapters:connection"],
  auth: ["@langchain/mcp-adapters:client", "@langchain/mcp-adapters:connection"],
  catalog: ["@langchain/mcp-adapters:tools"],
  call: ["@langchain/mcp-adapters:tools"],
};

/** The channel `toolport:<name>`. Writes one line per message to stderr if `DEBUG` enables it. */
export function debugChannel(name: ChannelName): DebugChannel {
  const full = `toolport:${name}`;
  const patterns = typeof process === "object" ? process.env?.["DEBUG"] : undefined;
  const enabled = [full, ...(ALIASES[name] ?? [])].some((known) => isChannelEnabled(known, patterns));
  const channel = (message: string): void => {
    if (enabled) console.error(`${full} ${visibleLine(message)}`);
  };
  return Object.assign(channel, { enabled });
}

/** Names of fields whose values must not be logged. */
const SECRET_NAME =
  /token|secret|password|passwd|authorization|api[-_]?key|cookie|credential|private[-_]?key/i;
/** Must not be logged either. Separate, because recordings need the sessions of tools. */
const SESSION_NAME = /session[-_]?id/i;
const MAX_LOGGED = 2_000;

/** Whether the name of a field indicates a secret. */
export const isSecretName = (name: string): boolean => SECRET_NAME.test(name) && name !== "progressToken";

const channel = debugChannel("wire");

/** The message as text, with secrets redacted and long text truncated. */
export function describeMessage(message: unknown, redact: (text: string) => string = (text) => text): string {
  const text = JSON.stringify(message, (name, value: unknown) => {
    if ((isSecretName(name) || SESSION_NAME.test(name)) && value !== null) return "[redacted]";
    // Redact before truncating: part of a secret is still a secret.
    return typeof value === "string" ? redactText(redact(value)) : value;
  });
  const shown = redact(text);
  return shown.length > MAX_LOGGED ? `${shown.slice(0, MAX_LOGGED)}… (${text.length} characters)` : shown;
}

interface WireLogOptions {
  server: string;
  logRequests: boolean;
  logResponses: boolean;
  logger: Logger;
  /** Removes the configured secrets of the server. @default returns the text unchanged */
  redact?: ((text: string) => string) | undefined;
}

/** Returns a function that logs messages; undefined if neither the logger nor the debug channel needs them. */
export function createWireLog({
  server,
  logRequests,
  logResponses,
  logger,
  redact = (text) => text,
}: WireLogOptions): ((direction: "sent" | "received", message: unknown) => void) | undefined {
  if (!logRequests && !logResponses && !channel.enabled) return undefined;
  return (direction, message) => {
    const isLogged = direction === "sent" ? logRequests : logResponses;
    if (!isLogged && !channel.enabled) return;
    const line = `[${server}] ${direction === "sent" ? "->" : "<-"} ${describeMessage(message, redact)}`;
    if (isLogged) logger.info(line);
    channel(line);
  };
}

/** Levels of the log messages of servers, in ascending order of severity. */
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
