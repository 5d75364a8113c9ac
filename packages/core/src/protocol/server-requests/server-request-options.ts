/** The options that serve requests and log messages of servers. A missing option is not advertised to servers. */

import type { LoggingLevel } from "@modelcontextprotocol/client";
import { type Logger, type LogLevel, redactText } from "@toolport/base";
import type { ElicitationOption } from "./elicitation.js";
import type { RootsOption, SamplingOption } from "./sampling-and-roots.js";

export interface ServerRequestOptions {
  /**
   * Asks the user on behalf of a server. A function handles forms; `{ form, url }` handles the modes it names.
   * @default not advertised
   * @example
   * ```ts
   * onElicitation: async ({ message, requestedSchema }, { server, signal }) => {
   *   const content = await showForm(`${server} asks: ${message}`, requestedSchema, signal);
   *   return content === undefined ? { action: "decline" } : { action: "accept", content };
   * },
   * ```
   */
  onElicitation?: ElicitationOption;
  /**
   * Asks a model on behalf of a server; `{ handle, tools: true }` if servers may offer tools to the model.
   * @default not advertised
   */
  onSampling?: SamplingOption;
  /**
   * Directories that servers may work on: a list, or a function that decides for each server.
   * @default not advertised
   * @example
   * ```ts
   * roots: [{ uri: "file:///home/ada/project", name: "project" }],
   * ```
   */
  roots?: RootsOption;
  /**
   * Receives the log messages of servers.
   * @default `logger`
   */
  onLog?: ServerLogListener;
  /**
   * Minimum level of the log messages that servers send; `logLevel` of a server entry takes precedence. Without a level,
   * servers up to 2025-11-25 choose one themselves, and later ones send nothing.
   * @default "info" for servers from 2026-07-28 on if `onLog` or `logger` is set, else none
   */
  logLevel?: LogLevel;
  /**
   * Protocol extensions that this program implements itself. They are advertised to servers unchanged.
   * @default none
   * @example
   * ```ts
   * extensions: { "io.modelcontextprotocol/ui": { mimeTypes: ["text/html;profile=mcp-app"] } },
   * ```
   */
  extensions?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

/** One log message of a server. Its data is untrusted: escape it before display. */
export interface ServerLogEntry {
  /** Name of the server, as configured. */
  readonly server: string;
  readonly level: LoggingLevel;
  /** The component of the server that logs. */
  readonly logger?: string | undefined;
  readonly data: unknown;
}

/**
 * Receives every log message of every server. If it returns promises, messages are delivered one at a time; when more than
 * 1,000 wait, the oldest are dropped with a warning.
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

/** Writes log messages of servers to the logger: one line each, without secrets and control characters. */
export function logToLogger(logger: Logger): ServerLogListener {
  return ({ server, level, logger: part, data }) => {
    const text = typeof data === "string" ? data : (JSON.stringify(data) ?? "");
    const source = part === undefined ? server : `${server}/${redactText(part)}`;
    logger[METHODS[level] ?? "error"](`[${source}] ${redactText(text)}`);
  };
}
