/** Converts a rendered MCP prompt to LangChain messages. */
import { AIMessage, type BaseMessage, type ContentBlock, HumanMessage } from "@langchain/core/messages";
import { type ContentPart, toContentPart } from "../../content/content-part.js";
import { ToolCallError } from "../../errors/tool-call-error.js";
import type { PromptResult } from "../../port/get-prompt.js";
import { textOf } from "../content-options.js";
import { hasBlock, toBlock } from "./content.js";

export interface ToLangChainMessagesOptions {
  /** Use LangChain's standard content blocks instead of the older ones. @default false */
  useStandardContentBlocks?: boolean;
}

/**
 * Converts a prompt. A message of one text becomes a plain text message. Throws for content without a LangChain block,
 * and for messages of the assistant that are not text, because an incomplete prompt would be misleading.
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
    const odd = parts.find((part) => (role === "assistant" ? textOf(part) === undefined : isOdd(part)));
    if (odd !== undefined) throw unsupported(prompt, role, odd);
    if (role === "assistant") return new AIMessage({ content: parts.map(textOf).join("\n") });
    const [first, ...rest] = parts;
    const text = first?.kind === "text" && rest.length === 0 ? first.text : undefined;
    const body: string | ContentBlock[] =
      text ?? parts.map((part) => toBlock(part, useStandardContentBlocks));
    return new HumanMessage({ content: body });
  });
}

/** Media types that some models support. */
const KNOWN_BYTES = /^(image|audio|video)\/|^application\/pdf$/;

function isOdd(part: ContentPart): boolean {
  if (part.kind === "blob-resource") return !KNOWN_BYTES.test(part.mimeType ?? "");
  return part.kind === "bare-resource" || !hasBlock(part);
}

function unsupported(
  prompt: { server?: string; name?: string },
  role: string,
  part: ContentPart,
): ToolCallError {
  const type = part.kind === "unknown" || part.kind === "malformed" ? part.type : part.kind;
  const why =
    role === "assistant"
      ? "but a message of the assistant can only contain text"
      : "for which LangChain has no block";
  return new ToolCallError({
    code: "UNSUPPORTED_CONTENT",
    server: prompt.server,
    what: `The prompt${prompt.name === undefined ? "" : ` ${prompt.name}`} has content of type ${JSON.stringify(type)}, ${why}`,
    next: "Read its messages from getPrompt() and convert them yourself",
  });
}
