/** Converts the messages of a prompt to the format of a provider. */
import { type ContentPart, toContentPart } from "../content/content-part.js";
import type { ContentBlock } from "../execution/tool-result.js";
import type { PromptResult } from "../port/get-prompt.js";
import { type ContentOptions, noteOrThrow, textOf } from "./content-options.js";

export interface PromptTurn<Part> {
  readonly role: "user" | "assistant";
  readonly parts: Part[];
  /** The whole text, if the message contains only text. */
  readonly text: string | undefined;
}

/** How one provider represents user messages. */
export interface PromptFormat<Part> {
  readonly provider: string;
  text(text: string): Part;
  /** The part in the format of the provider; undefined if it is not supported. */
  file(part: ContentPart): Part | undefined;
}

/** For every provider, messages of the assistant must be text. */
export function promptTurns<Part>(
  { server, messages }: PromptResult,
  format: PromptFormat<Part>,
  { strictContent = true, onLeftOut }: ContentOptions,
): PromptTurn<Part>[] {
  const place = { provider: format.provider, strict: strictContent, server, onLeftOut };
  return messages.map(({ role, content }) => {
    const blocks: readonly ContentBlock[] = Array.isArray(content) ? content : [content];
    const texts: string[] = [];
    const parts = blocks.map(toContentPart).map((part) => {
      const file = role === "user" && textOf(part) === undefined ? format.file(part) : undefined;
      if (file !== undefined) return file;
      const text = textOf(part) ?? noteOrThrow(part, place);
      texts.push(text);
      return format.text(text);
    });
    return { role, parts, text: texts.length === parts.length ? texts.join("\n") : undefined };
  });
}
