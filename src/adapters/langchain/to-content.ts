/** Converts a result to LangChain content and artifact. */
import type { ContentOptions } from "../content-options.js";
import type { ResultContent } from "../result-parts.js";
import { type ToolOutput, toOutputAtOnce } from "./content.js";
import { type OutputHandling, resolveOutputHandling } from "./output-handling.js";

export interface LangChainContentOptions extends Pick<ContentOptions, "audience" | "onLeftOut"> {
  /** Use LangChain's standard content blocks, also for artifacts. @default false */
  readonly useStandardContentBlocks?: boolean | undefined;
  /**
   * What the model sees (`"content"`) and what becomes an artifact (`"artifact"`).
   * @default embedded resources are artifacts, everything else is content
   */
  readonly outputHandling?: OutputHandling | undefined;
}

/**
 * Converts a result of `callTool` or `task.result()` to content and artifact: for a `ToolMessage`, and
 * for your own tool with `responseFormat: "content_and_artifact"`. Nothing is read from a server: a resource without content
 * stays unchanged.
 *
 * @example
 * ```ts
 * const [content, artifact] = toLangChainContent(await toolport.callTool("files__read_image", { path: "a.png" }));
 * const message = new ToolMessage({ content, artifact, tool_call_id });
 * ```
 */
export function toLangChainContent(
  result: ResultContent & { readonly _meta?: Readonly<Record<string, unknown>> | undefined },
  { useStandardContentBlocks = false, outputHandling, audience, onLeftOut }: LangChainContentOptions = {},
): ToolOutput {
  return toOutputAtOnce(result, {
    useStandardContentBlocks,
    outputHandling: resolveOutputHandling(outputHandling),
    audience,
    onLeftOut,
  });
}
