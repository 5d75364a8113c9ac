/** A rendered MCP prompt as LangChain messages. */
import { AIMessage, type BaseMessage, type ContentBlock, HumanMessage } from "@langchain/core/messages";
import { toContentPart } from "../../content/content-part.js";
import { ToolCallError } from "../../errors/tool-call-error.js";
import type { PromptResult } from "../../get-prompt.js";
import { toBlock } from "./content.js";

export interface ToLangChainMessagesOptions {
  /** LangChain's standard content blocks instead of the older ones. @default false */
  useStandardContentBlocks?: boolean;
}

/**
 * Converts a prompt. A message of one text becomes a plain text message. Content that LangChain has no block for is an
 * error: a prompt with a hole in it would not be the one that was asked for.
 *
 * @example
 * ```ts
 * const messages = toLangChainMessages(await toolport.getPrompt("notes", "summary", { topic: "tea" }));
 * ```
 * @throws ToolCallError with code `UNSUPPORTED_CONTENT`
 */
export function toLangChainMessages(
  prompt: Pick<PromptResult, "messages"> & Partial<Pick<PromptResult, "server" | "name">>,
  { useStandardContentBlocks = false }: ToLangChainMessagesOptions = {},
): BaseMessage[] {
  return prompt.messages.map(({ role, content }) => {
    // The protocol allows one block; some servers send several.
    const blocks: readonly unknown[] = Array.isArray(content) ? content : [content];
    const parts = blocks.map((block) => toContentPart((block ?? {}) as Record<string, unknown>));
    const odd = parts.find(({ kind }) => kind === "unknown" || kind === "bare-resource");
    if (odd !== undefined) throw unsupported(prompt, odd.kind === "unknown" ? odd.type : odd.kind);
    const [first, ...rest] = parts;
    const text = first?.kind === "text" && rest.length === 0 ? first.text : undefined;
    const body: string | ContentBlock[] =
      text ?? parts.map((part) => toBlock(part, useStandardContentBlocks));
    return role === "assistant" ? new AIMessage({ content: body }) : new HumanMessage({ content: body });
  });
}

function unsupported(prompt: { server?: string; name?: string }, type: string): ToolCallError {
  return new ToolCallError({
    code: "UNSUPPORTED_CONTENT",
    server: prompt.server,
    what: `The prompt${prompt.name === undefined ? "" : ` ${prompt.name}`} has content of type ${JSON.stringify(type)}, for which LangChain has no block`,
    next: "Read its messages from getPrompt() and convert them yourself",
  });
}
