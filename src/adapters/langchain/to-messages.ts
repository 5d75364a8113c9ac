/** A rendered MCP prompt as LangChain messages. */
import { AIMessage, type BaseMessage, type ContentBlock, HumanMessage } from "@langchain/core/messages";
import { type ContentPart, toContentPart } from "../../content/content-part.js";
import { ToolCallError } from "../../errors/tool-call-error.js";
import type { PromptResult } from "../../port/get-prompt.js";
import { textOf } from "../content-options.js";
import { isTaken, toBlock } from "./content.js";

export interface ToLangChainMessagesOptions {
  /** LangChain's standard content blocks instead of the older ones. @default false */
  useStandardContentBlocks?: boolean;
}

/**
 * Converts a prompt. A message of one text becomes a plain text message. Content that LangChain has no block for is an
 * error, and so is anything but text of an assistant: a prompt with a hole in it would not be the one asked for.
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

/** Bytes that models of some kind can take; any others no model would know what to do with. */
const KNOWN_BYTES = /^(image|audio|video)\/|^application\/pdf$/;

function isOdd(part: ContentPart): boolean {
  if (part.kind === "blob-resource") return !KNOWN_BYTES.test(part.mimeType ?? "");
  return part.kind === "bare-resource" || !isTaken(part);
}

function unsupported(
  prompt: { server?: string; name?: string },
  role: string,
  part: ContentPart,
): ToolCallError {
  const type = part.kind === "unknown" || part.kind === "malformed" ? part.type : part.kind;
  const why =
    role === "assistant" ? "where an assistant can only speak text" : "for which LangChain has no block";
  return new ToolCallError({
    code: "UNSUPPORTED_CONTENT",
    server: prompt.server,
    what: `The prompt${prompt.name === undefined ? "" : ` ${prompt.name}`} has content of type ${JSON.stringify(type)}, ${why}`,
    next: "Read its messages from getPrompt() and convert them yourself",
  });
}
