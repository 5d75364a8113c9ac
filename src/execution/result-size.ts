/** Limits the size of results: larger ones are truncated, or their largest blocks are replaced by artifacts. */
import { utf8Length } from "../util/utf8-length.js";
import type { CallInterceptor, ToolCall } from "./tool-call.js";
import {
  type ContentBlock,
  type ResultArtifact,
  type StructuredBlock,
  type ToolResult,
  textOf,
} from "./tool-result.js";

/** Key in `_meta` of a truncated result; see {@link Truncation}. */
export const TRUNCATED_META_KEY = "toolport/truncated";

/** What was removed from a result. */
export interface Truncation {
  /** Size of the remaining content, and of the whole content. */
  readonly bytes: number;
  readonly totalBytes: number;
  /** Size of the structured content, which is removed as a whole. */
  readonly structuredBytes?: number;
}

/** How results that are too large are handled. */
export interface ResultSizeOptions {
  /** Maximum size of the content (text in UTF-8, anything else in base64), and of the structured content. */
  bytes: number;
  /** `truncate`: cut the result and mark it. `spill`: move the largest blocks to `result.artifacts`. */
  mode: "truncate" | "spill";
  /** Called for every artifact before the result is returned, for instance to save it. */
  onSpill?: (artifact: ResultArtifact, call: ToolCall) => void | Promise<void>;
}

/** Maximum size of a result; a number truncates. @default no limit */
export type ResultSizeOption = number | ResultSizeOptions;

export interface ResultSizeParts {
  /** Receives errors of `onSpill`. */
  report?: (error: unknown) => void;
  createId?: () => string;
}

/** Smaller blocks are not worth replacing, because the note has about the same size. */
const SMALLEST_SPILL = 256;

/** Limits the size of results. */
export function resultSizeStep(
  options: ResultSizeOption,
  { report = () => {}, createId = () => crypto.randomUUID() }: ResultSizeParts = {},
): CallInterceptor {
  const { bytes, mode, onSpill }: ResultSizeOptions =
    typeof options === "number" ? { bytes: options, mode: "truncate" } : options;
  return (next) => async (call) => {
    const result = await next(call);
    if (isSmall(result, bytes)) return result;
    if (mode === "truncate") return truncate(result, bytes);
    const { rest, notes } = spill(result, bytes, createId);
    for (const artifact of notes.values()) {
      try {
        await onSpill?.(artifact, call);
      } catch (error) {
        report(error);
      }
    }
    // Many small blocks may still exceed the limit.
    return truncate(rest, bytes, notes);
  };
}

/** Fast check that is enough for most results. */
const isSmall = ({ content, structuredContent }: ToolResult, limit: number): boolean =>
  structuredContent === undefined && sum(content.map(blockBytesAtMost)) <= limit;

const sum = (sizes: readonly number[]): number => sizes.reduce((total, size) => total + size, 0);

const structuredBytes = ({ structuredContent }: ToolResult): number =>
  structuredContent === undefined ? 0 : utf8Length(JSON.stringify(structuredContent) ?? "");

/** Notes in place of artifacts. They do not count for the limit, because a truncated note is useless. */
type Notes = ReadonlyMap<ContentBlock, ResultArtifact>;

/** Replaces the largest blocks first, until the rest is small enough. */
function spill(
  result: ToolResult,
  limit: number,
  createId: () => string,
): { rest: ToolResult; notes: Notes } {
  const sizes = result.content.map(blockBytes);
  const content = [...result.content];
  const notes = new Map<ContentBlock, ResultArtifact>();
  const keep = (block: ContentBlock | StructuredBlock, bytes: number): ContentBlock => {
    const artifact = keepBlock(createId(), block, bytes);
    const note = artifactNote(artifact);
    notes.set(note, artifact);
    return note;
  };
  const bySize = sizes.map((bytes, index) => ({ bytes, index })).sort((a, b) => b.bytes - a.bytes);
  let total = sum(sizes);
  for (const { bytes, index } of bySize) {
    const block = content[index];
    if (total <= limit || bytes <= SMALLEST_SPILL || block === undefined) break;
    content[index] = keep(block, bytes);
    total -= bytes;
  }
  const { structuredContent, ...rest } = result;
  const structured = structuredBytes(result);
  const isStructuredKept = structured <= limit;
  if (!isStructuredKept) content.push(keep({ type: "structuredContent", structuredContent }, structured));
  if (notes.size === 0) return { rest: result, notes };
  const kept: ToolResult = {
    ...rest,
    content,
    text: textOf(content),
    ...(isStructuredKept && { structuredContent }),
    artifacts: [...(result.artifacts ?? []), ...notes.values()],
  };
  return { rest: kept, notes };
}

function truncate(result: ToolResult, limit: number, notes?: Notes): ToolResult {
  const { structuredContent, ...rest } = result;
  const sizes = result.content.map((block) => (notes?.has(block) ? 0 : blockBytes(block)));
  const totalBytes = sum(sizes);
  const structured = structuredBytes(result);
  const isStructuredKept = structured <= limit;
  if (totalBytes <= limit && isStructuredKept) return result;
  const { content, bytes } = cutContent(result.content, sizes, limit);
  const note = isStructuredKept
    ? `[truncated: ${bytes} of ${totalBytes} bytes]`
    : `[truncated: ${bytes} of ${totalBytes} bytes, without ${structured} bytes of structured content]`;
  const mark: Truncation = { bytes, totalBytes, ...(!isStructuredKept && { structuredBytes: structured }) };
  const marked: ContentBlock[] = [...content, { type: "text", text: note }];
  return {
    ...rest,
    content: marked,
    text: textOf(marked),
    ...(isStructuredKept && { structuredContent }),
    _meta: { ...result._meta, [TRUNCATED_META_KEY]: mark },
  };
}

/** Keeps the blocks that fit, in order. The last text is cut; half an image or file would be useless. */
function cutContent(
  blocks: readonly ContentBlock[],
  sizes: readonly number[],
  limit: number,
): { content: ContentBlock[]; bytes: number } {
  let left = limit;
  const content = blocks.flatMap((block, index): ContentBlock[] => {
    const size = sizes[index] ?? 0;
    if (size <= left) {
      left -= size;
      return [block];
    }
    if (block.type !== "text" || left === 0) return [];
    const text = cutText(String(block["text"]), left);
    left -= utf8Length(text);
    return [{ ...block, text }];
  });
  return { content, bytes: limit - left };
}

/** A block whose fields have not been checked. */
type Block = Readonly<Record<string, unknown>>;

/** The text or base64 data of a block; empty for links and unknown types. */
function payloadOf(block: Block): string {
  const resource = block["resource"] as { text?: unknown; blob?: unknown } | null | undefined;
  const payload =
    block["text"] ?? block["data"] ?? block["blob"] ?? block["value"] ?? resource?.text ?? resource?.blob;
  return typeof payload === "string" ? payload : "";
}

/** Size of the text or base64 data of a block. */
const blockBytes = (block: Block): number => utf8Length(payloadOf(block));

/** Upper bound of the size, computed without reading the text. */
const blockBytesAtMost = (block: Block): number => 3 * payloadOf(block).length;

/** The start of a text, at most `maxBytes` in UTF-8, without splitting a character. */
function cutText(text: string, maxBytes: number): string {
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(maxBytes));
  return text.slice(0, read);
}

/** The handle keeps the block in memory. */
function keepBlock(id: string, block: ContentBlock | StructuredBlock, bytes: number): ResultArtifact {
  const fields: Readonly<Record<string, unknown>> = block;
  const resource = fields["resource"] as { mimeType?: unknown } | null | undefined;
  const mimeType = fields["mimeType"] ?? resource?.mimeType;
  return {
    id,
    type: block.type,
    ...(typeof mimeType === "string" && { mimeType }),
    bytes,
    read: async () => block,
  };
}

/** Replaces the block in the result. */
const artifactNote = ({ id, type, mimeType, bytes }: ResultArtifact): ContentBlock => ({
  type: "text",
  text: `[moved to artifact ${id}: ${mimeType ?? type}, ${bytes} bytes]`,
});
