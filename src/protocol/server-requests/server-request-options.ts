/** The options of the port that serve servers; what is left out is not advertised to them. */
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
}
