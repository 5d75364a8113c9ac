/** MCP results as LangChain content and artifact, by the rules of the README of `@langchain/mcp-adapters`. */
import type { ContentBlock as LangChainBlock } from "@langchain/core/messages";
import { type ContentPart, toContentPart } from "../../content/content-part.js";
import { partNote } from "../../content/part-note.js";
import type { ContentBlock, ToolResult } from "../../execution/tool-result.js";
import type { OutputTarget, OutputType } from "./output-handling.js";

/** `structuredContent` of a result, beside the other artifacts. */
export interface StructuredContentArtifact {
  readonly type: "mcp_structured_content";
  readonly data: unknown;
}

/** `_meta` of a result, beside the other artifacts. */
export interface MetaArtifact {
  readonly type: "mcp_meta";
  readonly data: Readonly<Record<string, unknown>>;
}

/** Something set aside: an MCP block as it came, a LangChain block, or one of the two above. */
export type ToolArtifact = ContentBlock | LangChainBlock | StructuredContentArtifact | MetaArtifact;

/** What a tool's output is in LangChain: content for the model, artifacts for the program. */
export type ToolOutput = [content: string | LangChainBlock[], artifact: ToolArtifact[]];

export interface OutputOptions {
  readonly useStandardContentBlocks: boolean;
  readonly outputHandling: Readonly<Record<OutputType, OutputTarget>>;
}

/** Reads a resource that only names itself from the server that named it; undefined if it cannot be had. */
type ReadResource = (uri: string) => Promise<readonly ContentBlock[] | undefined>;

type Result = Pick<ToolResult, "content" | "structuredContent" | "_meta">;

/** Converts a result. Every block finds its place; only a resource that names nothing but itself is waited for. */
export function toToolOutput(
  result: Result,
  options: OutputOptions,
  readResource: ReadResource,
): ToolOutput | Promise<ToolOutput> {
  const parts = result.content.map(toContentPart);
  if (!parts.some(isBare)) return arrange(parts, result, options);
  const expanded = Promise.all(parts.map((part) => (isBare(part) ? expand(part, readResource) : part)));
  return expanded.then((all) => arrange(all.flat(), result, options));
}

type BareResource = Extract<ContentPart, { kind: "bare-resource" }>;

const isBare = (part: ContentPart): part is BareResource => part.kind === "bare-resource";

async function expand(part: BareResource, readResource: ReadResource): Promise<ContentPart[]> {
  const read = await readResource(part.uri);
  // What names only itself again is left as it is: nobody is sent in circles.
  return read === undefined || read.length === 0 ? [part] : read.map(toContentPart);
}

function arrange(
  parts: readonly ContentPart[],
  { structuredContent, _meta }: Result,
  { useStandardContentBlocks, outputHandling }: OutputOptions,
): ToolOutput {
  const content: LangChainBlock[] = [];
  const artifact: ToolArtifact[] = [];
  for (const part of parts) {
    if (targetOf(part, outputHandling) === "content") content.push(toBlock(part, useStandardContentBlocks));
    else artifact.push(useStandardContentBlocks ? toBlock(part, true) : (part.source as ContentBlock));
  }
  if (structuredContent !== undefined) {
    // A server that gives only data would otherwise say nothing to the model.
    if (parts.length === 0) content.push({ type: "text", text: JSON.stringify(structuredContent) });
    artifact.push({ type: "mcp_structured_content", data: structuredContent });
  }
  const meta = _meta && ownMeta(_meta);
  if (meta !== undefined) artifact.push({ type: "mcp_meta", data: meta });
  return [loneText(content) ?? content, artifact];
}

function targetOf(
  { source }: ContentPart,
  outputHandling: Readonly<Record<string, OutputTarget>>,
): OutputTarget {
  const type = source["type"] as string;
  return Object.hasOwn(outputHandling, type) ? outputHandling[type]! : "content";
}

/** What the tool itself has put into `_meta`: servers of the modern era add things of the protocol's own. */
function ownMeta(meta: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> | undefined {
  const own = Object.entries(meta).filter(([key]) => !key.startsWith("io.modelcontextprotocol/"));
  return own.length === 0 ? undefined : Object.fromEntries(own);
}

/** The text, if it is all there is. */
function loneText(content: readonly LangChainBlock[]): string | undefined {
  const [first] = content;
  return first?.type === "text" && content.length === 1 ? (first["text"] as string) : undefined;
}

const mimeType = (value: string | undefined) => (value === undefined ? {} : { mime_type: value });

/** One block for a model. */
export function toBlock(part: ContentPart, standard: boolean): LangChainBlock {
  switch (part.kind) {
    case "text":
      return standard
        ? { type: "text", source_type: "text", text: part.text }
        : { type: "text", text: part.text };
    case "image":
      return standard
        ? { type: "image", source_type: "base64", data: part.data, mime_type: part.mimeType }
        : { type: "image_url", image_url: { url: `data:${part.mimeType};base64,${part.data}` } };
    case "audio":
      return { type: "audio", source_type: "base64", data: part.data, mime_type: part.mimeType };
    case "text-resource":
      return {
        type: "file",
        source_type: "text",
        text: part.text,
        ...mimeType(part.mimeType),
        metadata: { uri: part.uri },
      };
    case "blob-resource":
      return {
        type: "file",
        source_type: "base64",
        data: part.data,
        ...mimeType(part.mimeType),
        metadata: { uri: part.uri },
      };
    case "link":
      return { type: "file", source_type: "url", url: part.uri, ...mimeType(part.mimeType) };
    default:
      return { type: "text", text: partNote(part) };
  }
}
