/** Converts a result to content of Anthropic's messages API. */
import { type ContentOptions, leaveOut, mapParts } from "../content-options.js";
import { type ResultContent, resultParts } from "../result-parts.js";
import { type AnthropicFileBlock, type AnthropicTextBlock, PROVIDER_NAME, toFileBlock } from "./content.js";

export interface AnthropicContentOptions extends ContentOptions {
  /** Images and PDF files: separate blocks (`"content"`), or replaced by a note (`"note"`). @default "content" */
  readonly media?: "content" | "note" | undefined;
}

/**
 * Converts a result of `callTool` or `task.result()`: for `content` of a `tool_result`,
 * or of a user message. A result with `isError` is text only, because the API rejects other content beside `is_error`.
 *
 * @example
 * ```ts
 * const result = await task.result();
 * const block = { type: "tool_result", tool_use_id, is_error: result.isError, content: toAnthropicContent(result) };
 * ```
 */
export function toAnthropicContent(
  result: ResultContent,
  { media = "content", strictContent = false, audience, onLeftOut }: AnthropicContentOptions = {},
): (AnthropicTextBlock | AnthropicFileBlock)[] {
  const place = { provider: PROVIDER_NAME, strict: strictContent, server: result.server, onLeftOut };
  const text = (words: string): AnthropicTextBlock => ({ type: "text", text: words });
  return mapParts<AnthropicTextBlock | AnthropicFileBlock>(
    resultParts(result, audience),
    {
      text,
      file: (part) => {
        const file = media === "note" ? undefined : toFileBlock(part);
        return file !== undefined && result.isError === true ? text(leaveOut(part, place)) : file;
      },
    },
    place,
  );
}
