/** Every adapter converts any content of a server without throwing. */
import fc from "fast-check";
import { expect } from "vitest";
import { toAiSdkContent, toModelOutput } from "../../packages/adapters/src/ai-sdk/content.js";
import { toAnthropicContent, toFileBlock } from "../../packages/adapters/src/anthropic/content.js";
import {
  toGeminiContent,
  toMessageData,
  toResponseData,
} from "../../packages/adapters/src/gemini/content.js";
import {
  resolveOutputHandling,
  toLangChainContent,
  toToolOutput,
} from "../../packages/adapters/src/langchain/content.js";
import { resultParts } from "../../packages/adapters/src/model-content.js";
import {
  toChatAudio,
  toChatFile,
  toOpenAIContent,
  toResponsesFile,
} from "../../packages/adapters/src/openai/content.js";
import { partNote } from "../../packages/core/src/content/content-part.js";
import { resultSizeStep } from "../../packages/core/src/execution/result-size.js";
import type { ToolCall } from "../../packages/core/src/execution/tool-call.js";
import {
  type ContentBlock,
  type ToolResult,
  toToolResult,
} from "../../packages/core/src/execution/tool-result.js";
import { almost, contentBlock, oddText, wireValue } from "./arbitraries.js";
import { fuzzModel } from "./fuzz-model.js";

const answer = almost({
  content: fc.array(fc.oneof({ weight: 4, arbitrary: contentBlock }, { weight: 1, arbitrary: wireValue }), {
    maxLength: 4,
  }),
  structuredContent: wireValue,
  isError: fc.boolean(),
  _meta: almost({ a: oddText }),
});

const sizes = fc.record({
  bytes: fc.integer({ min: 1, max: 400 }),
  mode: fc.constantFrom("truncate" as const, "spill" as const),
});

const CALL = {} as ToolCall;

/** Deeply nested values are rejected before a recursive function gets them. */
function read(raw: Record<string, unknown>): ToolResult | undefined {
  try {
    return toToolResult(raw, "server");
  } catch (error) {
    expect(error).toMatchObject({ code: "PROTOCOL", server: "server" });
    return undefined;
  }
}

async function mapEverywhere(result: ToolResult, reads: readonly ContentBlock[] | undefined): Promise<void> {
  const parts = resultParts(result);
  expect(parts.length).toBeGreaterThan(0);
  for (const part of parts) {
    expect(partNote(part)).toBeTypeOf("string");
    for (const map of [toFileBlock, toMessageData, toResponseData, toChatAudio, toChatFile, toResponsesFile])
      map(part);
  }
  const options = { onLeftOut: ({ note }: { note: string }) => expect(note.trim()).not.toBe("") };
  toOpenAIContent(result, { ...options, api: "responses" });
  for (const convert of [
    toOpenAIContent,
    toAnthropicContent,
    toGeminiContent,
    toAiSdkContent,
    toLangChainContent,
  ])
    for (const audience of ["respect", "ignore"] as const)
      expect(convert(result, { ...options, audience })).toBeDefined();
  for (const version of [5, 6, 7] as const)
    for (const media of ["note", "content"] as const) toModelOutput(result, { version, media });
  for (const useStandardContentBlocks of [true, false])
    for (const target of ["content", "artifact"] as const)
      await toToolOutput(
        result,
        { useStandardContentBlocks, outputHandling: resolveOutputHandling(target) },
        { tool: "it", readResource: async () => reads },
      );
}

fuzzModel(
  "content",
  fc.asyncProperty(
    answer,
    fc.option(fc.array(contentBlock, { maxLength: 2 }), { nil: undefined }),
    sizes,
    async (raw, reads, size) => {
      const result = read(raw);
      if (result === undefined) return;
      expect(result.text).toBeTypeOf("string");
      await mapEverywhere(result, reads as ContentBlock[] | undefined);
      const bounded = await resultSizeStep(size)(async () => ({ result }))(CALL);
      await mapEverywhere(bounded.result, undefined);
    },
  ),
);
