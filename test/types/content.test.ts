/** Content of results and prompts is narrowed by `type`, without a cast. */
import type { CallToolResult } from "@modelcontextprotocol/client";
import type {
  AudioContent,
  ContentBlock,
  EmbeddedResource,
  ImageContent,
  OtherContent,
  PromptResult,
  ResourceLink,
  TextContent,
  ToolResult,
} from "toolport";
import { ToolException } from "toolport/langchain";
import { describe, expectTypeOf, test } from "vitest";

/** Only compiled: how a program uses a tool result. */
function describeBlock(block: ToolResult["content"][number]): string | number {
  if (block.type === "text") return block.text.trim();
  if (block.type === "image" || block.type === "audio") return `${block.mimeType}, ${block.data.length}`;
  if (block.type === "resource") return block.resource.text ?? block.resource.blob ?? block.resource.uri;
  if (block.type === "resource_link") return `${block.name}: ${block.uri}`;
  expectTypeOf(block).toEqualTypeOf<OtherContent>();
  return `${block.type.toUpperCase()} ${block["anything"]}`;
}

function describeMessage({ messages }: PromptResult): string | undefined {
  const [first] = messages;
  return first?.content.type === "text" ? first.content.text : undefined;
}

describe("a block of content", () => {
  test("is narrowed by its type", () => {
    expectTypeOf(describeBlock).parameter(0).toEqualTypeOf<ContentBlock>();
    expectTypeOf(describeMessage).returns.toEqualTypeOf<string | undefined>();
    expectTypeOf<Extract<ContentBlock, { type: "text" }>>().toEqualTypeOf<TextContent>();
    expectTypeOf<Extract<ContentBlock, { type: "image" }>>().toEqualTypeOf<ImageContent>();
    expectTypeOf<Extract<ContentBlock, { type: "audio" }>>().toEqualTypeOf<AudioContent>();
    expectTypeOf<Extract<ContentBlock, { type: "resource" }>>().toEqualTypeOf<EmbeddedResource>();
    expectTypeOf<Extract<ContentBlock, { type: "resource_link" }>>().toEqualTypeOf<ResourceLink>();
  });

  test("keeps its type in a filtered list", () => {
    const texts = (result: ToolResult) => result.content.filter((block) => block.type === "text");
    expectTypeOf(texts).returns.toEqualTypeOf<TextContent[]>();
  });

  test("has the same type in a LangChain error", () => {
    const texts = (error: ToolException) =>
      error.content.map((block) => (block.type === "text" ? block.text : ""));
    expectTypeOf(texts).returns.toEqualTypeOf<string[]>();
    expectTypeOf(ToolException).not.toBeNever();
  });

  test("accepts the SDK's content, and rejects blocks without required fields", () => {
    expectTypeOf<CallToolResult["content"][number]>().toExtend<ContentBlock>();
    expectTypeOf<{ type: "text" }>().not.toExtend<ContentBlock>();
    expectTypeOf<{ type: "image"; data: string }>().not.toExtend<ContentBlock>();
    expectTypeOf<ContentBlock>().toExtend<Readonly<Record<string, unknown>> & { type: string }>();
  });
});
