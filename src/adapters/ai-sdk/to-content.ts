/** Converts a result to the output that the AI SDK sends to a model. */
import type { ContentOptions } from "../content-options.js";
import type { ResultContent } from "../result-parts.js";
import {
  type AiSdkModelOutput,
  type AiSdkVersion,
  modelOutputOptions,
  PROVIDER_NAME,
  toModelOutput,
} from "./content.js";

export interface AiSdkContentOptions extends ContentOptions {
  /** Major version of `ai` that receives the content: each one represents files differently. @default 6 */
  readonly version?: AiSdkVersion | undefined;
  /** Images, audio and files: sent to the model (`"content"`), or replaced by a note (`"note"`). @default "content" */
  readonly media?: "content" | "note" | undefined;
}

/**
 * Converts a result of `callTool` or `task.result()`: for `output` of a `tool-result`
 * part, and for `toModelOutput` of your own tool.
 *
 * @example
 * ```ts
 * const result = await toolport.callTool("files__read_image", { path: "a.png" });
 * const part = { type: "tool-result", toolCallId, toolName, output: toAiSdkContent(result) };
 * ```
 */
export function toAiSdkContent(
  result: ResultContent,
  { version = 6, media, audience, strictContent = false, onLeftOut }: AiSdkContentOptions = {},
): AiSdkModelOutput {
  const place = { provider: PROVIDER_NAME, strict: strictContent, server: result.server, onLeftOut };
  return toModelOutput(result, modelOutputOptions({ media, audience }, version), place);
}
