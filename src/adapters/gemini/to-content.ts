/** Converts a result to content of Gemini's API. */
import { type ContentOptions, mapParts } from "../content-options.js";
import { markedParts, type ResultContent } from "../result-parts.js";
import { type GeminiInlineData, type GeminiTextPart, PROVIDER_NAME, toMessageData } from "./content.js";

export interface GeminiContentOptions extends ContentOptions {
  /** Images, audio, video and PDF files: separate parts (`"content"`), or replaced by a note (`"note"`). @default "content" */
  readonly media?: "content" | "note" | undefined;
}

/**
 * Converts a result of `callTool` or `task.result()` to parts for a user
 * content. A failure begins with `Error:`.
 *
 * @example
 * ```ts
 * const result = await toolport.callTool("radio__record", { seconds: 5 });
 * contents.push({ role: "user", parts: [{ text: "What is said here?" }, ...toGeminiContent(result)] });
 * ```
 */
export function toGeminiContent(
  result: ResultContent,
  { media = "content", strictContent = false, audience, onLeftOut }: GeminiContentOptions = {},
): (GeminiTextPart | GeminiInlineData)[] {
  return mapParts<GeminiTextPart | GeminiInlineData>(
    markedParts(result, audience),
    { text: (text) => ({ text }), file: (part) => (media === "note" ? undefined : toMessageData(part)) },
    { provider: PROVIDER_NAME, strict: strictContent, server: result.server, onLeftOut },
  );
}
