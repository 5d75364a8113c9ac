/** Converts MCP results to LangChain content and artifact, by the rules of the README of `@langchain/mcp-adapters`, and prompts to messages. */
import {
  AIMessage,
  type BaseMessage,
  HumanMessage,
  type ContentBlock as LangChainBlock,
} from "@langchain/core/messages";
import { ToolCallError } from "@toolport/base";
import { type ContentBlock, type ContentPart, type PromptResult, toContentParts } from "@toolport/core";
import { partNote } from "@toolport/core/internal";
import {
  type AudienceRule,
  type ContentOptions,
  forUserNote,
  isFileUrl,
  isMeantForModel,
  isSupportedSomewhere,
  leaveOut,
  type ResultContent,
  textOf,
  textPart,
} from "../model-content.js";

const PROVIDER_NAME = "LangChain's models";

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

/** An artifact: an MCP block as the server sent it, a LangChain block, or one of the two above. */
export type ToolArtifact = ContentBlock | LangChainBlock | StructuredContentArtifact | MetaArtifact;

/** The output of a tool in LangChain: content for the model, artifacts for the program. */
export type ToolOutput = [content: string | LangChainBlock[], artifact: ToolArtifact[]];

export interface OutputOptions {
  readonly useStandardContentBlocks: boolean;
  readonly outputHandling: Readonly<Record<OutputType, OutputTarget>>;
  readonly audience?: AudienceRule | undefined;
  readonly onLeftOut?: ContentOptions["onLeftOut"];
}

type Result = ResultContent & {
  readonly _meta?: Readonly<Record<string, unknown>> | undefined;
};

/** What `toToolOutput` needs in addition to a result. */
interface OutputSource {
  /** The tool's name on its server, for `onLeftOut`. */
  readonly tool: string;
  /** Reads a resource of which the result contains only the URI; undefined if it cannot be read. */
  readonly readResource: (uri: string) => Promise<readonly ContentBlock[] | undefined>;
  /** Makes the parts for the model fit; returns the same list if they do. */
  readonly fitParts?: ((parts: readonly ContentPart[]) => readonly ContentPart[]) | undefined;
}

/** Converts a result. Reads resources of which it contains only the URI. */
export async function toToolOutput(
  result: Result,
  options: OutputOptions,
  source: OutputSource,
): Promise<ToolOutput> {
  const parts = toContentParts(result.content ?? []);
  const expanded = await Promise.all(parts.map((part) => expand(part, source.readResource)));
  return arrange(expanded.flat(), result, { ...options, ...source });
}

async function expand(part: ContentPart, readResource: OutputSource["readResource"]): Promise<ContentPart[]> {
  if (part.kind !== "bare-resource") return [part];
  const read = await readResource(part.uri);
  if (read === undefined || read.length === 0) return [part];
  // Nested resources without content stay unchanged. The audience of the block still applies.
  return toContentParts(read).map((each) => ({ ...each, userOnly: part.userOnly }));
}

function arrange(
  parts: readonly ContentPart[],
  { structuredContent, _meta, isError = false, server }: Result,
  options: OutputOptions & Partial<Pick<OutputSource, "tool" | "fitParts">>,
): ToolOutput {
  const { useStandardContentBlocks, outputHandling, audience, onLeftOut, tool, fitParts } = options;
  const blocks = new Map<ContentPart, LangChainBlock>();
  const say = (text: string) => blocks.set(textPart(text), toText(text));
  const artifact: ToolArtifact[] = [];
  for (const part of parts) {
    const isContent = targetOf(part, outputHandling) === "content" && isMeantForModel(part, audience);
    if (isContent && hasBlock(part)) blocks.set(part, toBlock(part, useStandardContentBlocks));
    else {
      if (isContent) say(leaveOut(part, { provider: PROVIDER_NAME, server, tool, onLeftOut }));
      // The program receives content that the model does not support.
      artifact.push(useStandardContentBlocks ? toArtifact(part) : (part.source as ContentBlock));
    }
  }
  if (structuredContent !== undefined) {
    // Otherwise the model would receive nothing from a server that sends only structured content.
    if (!parts.some((part) => isMeantForModel(part, audience))) say(JSON.stringify(structuredContent));
    artifact.push({ type: "mcp_structured_content", data: structuredContent });
  } else if (blocks.size === 0 && parts.some((part) => !isMeantForModel(part, audience)))
    say(forUserNote(isError));
  const meta = _meta && ownMeta(_meta);
  if (meta !== undefined) artifact.push({ type: "mcp_meta", data: meta });
  const visible = [...blocks.keys()];
  const fitted = fitParts?.(visible) ?? visible;
  const isCut = fitted !== visible;
  const content = fitted.map((part) => blocks.get(part) ?? toBlock(part, useStandardContentBlocks));
  if (isCut) {
    const remaining = new Set(fitted);
    // The program receives whole what the model does not.
    for (const part of parts)
      if (blocks.has(part) && !remaining.has(part)) artifact.push(part.source as ContentBlock);
  }
  // Some providers accept nothing but one text in a tool message.
  const isText = (isCut || content.length === 1) && content.every(({ type }) => type === "text");
  return [isText ? content.map((block) => block["text"] as string).join("\n") : content, artifact];
}

function targetOf(
  { source }: ContentPart,
  outputHandling: Readonly<Record<string, OutputTarget>>,
): OutputTarget {
  const type = source["type"] as string;
  return Object.hasOwn(outputHandling, type) ? outputHandling[type]! : "content";
}

/** The texts of a failure that the model may read; it also receives the messages of exceptions. */
export const textForModel = (result: ResultContent, audience: AudienceRule | undefined): string =>
  toContentParts(result.content ?? [])
    .flatMap((part) => (part.kind === "text" && isMeantForModel(part, audience) ? part.text : []))
    .join("\n");

/** The entries of `_meta` that come from the tool: servers of the modern era add entries of the protocol. */
function ownMeta(meta: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> | undefined {
  const own = Object.entries(meta).filter(([key]) => !key.startsWith("io.modelcontextprotocol/"));
  return own.length === 0 ? undefined : Object.fromEntries(own);
}

const toText = (text: string): LangChainBlock => ({ type: "text", text });

/** Whether it has a block that at least one provider supports. */
function hasBlock(part: ContentPart): boolean {
  switch (part.kind) {
    case "image":
      return isSupportedSomewhere(part);
    case "link":
      // A file on the server's machine: no provider can read it.
      return !isFileUrl(part.uri);
    case "unknown":
    case "malformed":
      return false;
    default:
      return true;
  }
}

const toArtifact = (part: ContentPart): ToolArtifact =>
  part.kind === "malformed" || part.kind === "unknown" ? (part.source as ContentBlock) : toBlock(part, true);

const mimeType = (value: string | undefined) => (value === undefined ? {} : { mime_type: value });

/** Converts a part to one block for a model; parts without a block type become a note. */
function toBlock(part: ContentPart, standard: boolean): LangChainBlock {
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
    case "blob-resource":
      return {
        type: "file",
        ...(part.kind === "text-resource"
          ? { source_type: "text", text: part.text }
          : { source_type: "base64", data: part.data }),
        ...mimeType(part.mimeType),
        metadata: { uri: part.uri },
      };
    case "link":
      return { type: "file", source_type: "url", url: part.uri, ...mimeType(part.mimeType) };
    default:
      return toText(partNote(part));
  }
}

/** Options of `toLangChainContent()`. */
export interface LangChainContentOptions extends Pick<ContentOptions, "audience" | "onLeftOut"> {
  /** Use LangChain's standard content blocks, also for artifacts. @default false */
  readonly useStandardContentBlocks?: boolean | undefined;
  /**
   * What the model sees (`"content"`) and what becomes an artifact (`"artifact"`).
   * @default embedded resources are artifacts, everything else is content
   */
  readonly outputHandling?: OutputHandling | undefined;
}

/**
 * Converts a result of `callTool` or `task.result()` to content and artifact: for a `ToolMessage`, and
 * for your own tool with `responseFormat: "content_and_artifact"`. Nothing is read from a server: a resource without content
 * stays unchanged.
 *
 * @example
 * ```ts
 * const [content, artifact] = toLangChainContent(await toolport.callTool("files__read_image", { path: "a.png" }));
 * const message = new ToolMessage({ content, artifact, tool_call_id });
 * ```
 */
export function toLangChainContent(
  result: Result,
  { useStandardContentBlocks = false, outputHandling, audience, onLeftOut }: LangChainContentOptions = {},
): ToolOutput {
  const options = { outputHandling: resolveOutputHandling(outputHandling), audience, onLeftOut };
  return arrange(toContentParts(result.content ?? []), result, { useStandardContentBlocks, ...options });
}

/** Options of `toLangChainMessages()`. */
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
    const parts = toContentParts(blocks);
    const odd = parts.find((part) => (role === "assistant" ? textOf(part) === undefined : isOdd(part)));
    if (odd !== undefined) throw unsupported(prompt, role, odd);
    if (role === "assistant") return new AIMessage({ content: parts.map(textOf).join("\n") });
    const [first, ...rest] = parts;
    const text = first?.kind === "text" && rest.length === 0 ? first.text : undefined;
    const body: string | LangChainBlock[] =
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

/** `ToolMessage.content`, which the model sees, or `ToolMessage.artifact`, which it does not. */
export type OutputTarget = "content" | "artifact";

/** The types of MCP content that have a target. */
export type OutputType = "text" | "image" | "audio" | "resource" | "resource_link";

/** One target for everything, or one for each type that is named. */
export type OutputHandling = OutputTarget | { readonly [Type in OutputType]?: OutputTarget | undefined };

const DEFAULTS: Readonly<Record<OutputType, OutputTarget>> = {
  text: "content",
  image: "content",
  audio: "content",
  resource: "artifact",
  resource_link: "content",
};

export const OUTPUT_TYPES = Object.keys(DEFAULTS) as OutputType[];

/** Merges levels over the defaults, later ones over earlier ones: top level first, then the server. */
export function resolveOutputHandling(
  ...levels: readonly (OutputHandling | undefined)[]
): Readonly<Record<OutputType, OutputTarget>> {
  const resolved = { ...DEFAULTS };
  for (const level of levels) {
    for (const type of OUTPUT_TYPES) {
      const target = typeof level === "string" ? level : level?.[type];
      if (target !== undefined) resolved[type] = target;
    }
  }
  return resolved;
}
