/** The options of the port that serve servers; what is left out is not advertised to them. */
import type { LogLevel } from "../../model/log-levels.js";
import type { ElicitationOption } from "./elicitation.js";
import type { RootsOption } from "./roots.js";
import type { SamplingOption } from "./sampling.js";
import type { ServerLogListener } from "./server-log.js";

export interface ServerRequestOptions {
  /**
   * Asks the user on behalf of a server. A function serves forms; `{ form, url }` serves the modes it names.
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
   * Asks a model on behalf of a server; `{ handle, tools: true }` if the model may be given tools.
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
   * Gets the log messages of servers.
   * @default `logger`
   */
  onLog?: ServerLogListener;
  /**
   * How serious a log message must be for servers to send it; an entry's own `logLevel` comes first. Servers up to
   * 2025-11-25 choose by themselves if nothing is said; later ones then send nothing.
   * @default "info" for servers from 2026-07-28 on where there is an `onLog` or a `logger`, else none
   */
  logLevel?: LogLevel;
  /**
   * Extensions of the protocol that this program serves itself, told to servers as they stand here.
   * @default none
   * @example
   * ```ts
   * extensions: { "io.modelcontextprotocol/ui": { mimeTypes: ["text/html;profile=mcp-app"] } },
   * ```
   */
  extensions?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}
