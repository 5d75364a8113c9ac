/** A result as LangChain content and artifact. */
import type { ContentOptions } from "../content-options.js";
import type { ResultContent } from "../result-parts.js";
import { type ToolOutput, toOutputAtOnce } from "./content.js";
import { type OutputHandling, resolveOutputHandling } from "./output-handling.js";

export interface LangChainContentOptions extends Pick<ContentOptions, "audience" | "onLeftOut"> {
  /** LangChain's standard content blocks, for artifacts as well. @default false */
  readonly useStandardContentBlocks?: boolean | undefined;
  /**
   * What the model sees (`"content"`) and what is set aside (`"artifact"`).
   * @default embedded resources are set aside, everything else is content
   */
  readonly outputHandling?: OutputHandling | undefined;
}

/**
 * Content and artifact of a result that you have got yourself, from `callTool` or `task.result()`: for a `ToolMessage`, and
 * for a tool of your own with `responseFormat: "content_and_artifact"`. Nothing is read from a server: a resource that only
 * names itself stays as it is.
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
