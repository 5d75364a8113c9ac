/** Keeps what one call hands on within bounds: the rest is cut off and said to be so, or kept aside. */
import { utf8Length } from "../util/utf8-length.js";
import type { CallInterceptor, ToolCall } from "./tool-call.js";
import {
  type ContentBlock,
  type ResultArtifact,
  type StructuredBlock,
  type ToolResult,
  textOf,
} from "./tool-result.js";

/** Where the result says how much of it was cut off; see {@link Truncation}. */
export const TRUNCATED_META_KEY = "toolport/truncated";

/** What was cut off a result. */
export interface Truncation {
  /** Bytes of content that were kept, and how many there were. */
  readonly bytes: number;
  readonly totalBytes: number;
  /** Bytes of the structured content that was left out: half of it would be no data. */
  readonly structuredBytes?: number;
}

/** What happens to a result that is too large. */
export interface ResultSizeOptions {
  /** Most bytes of content (text in UTF-8, anything else in base64), and as many of structured content. */
  bytes: number;
  /** `truncate`: cut off and marked. `spill`: the largest blocks are kept aside, as `result.artifacts`. */
  mode: "truncate" | "spill";
  /** Told of everything that is kept aside, before the result is handed on: the place to save it. */
  onSpill?: (artifact: ResultArtifact, call: ToolCall) => void | Promise<void>;
}

/** Largest result that is handed on; a number truncates. @default no limit */
export type ResultSizeOption = number | ResultSizeOptions;

export interface ResultSizeParts {
  /** Told when `onSpill` throws. */
  report?: (error: unknown) => void;
  createId?: () => string;
}

/** A block that is no larger than the note in its place would be is not worth keeping aside. */
const SMALLEST_SPILL = 256;

/** Bounds the size of results. */
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
    // A thousand small blocks can be too much as well.
    return truncate(rest, bytes, notes);
  };
}

/** The quick look that is enough for most results. */
const isSmall = ({ content, structuredContent }: ToolResult, limit: number): boolean =>
  structuredContent === undefined && sum(content.map(blockBytesAtMost)) <= limit;

const sum = (sizes: readonly number[]): number => sizes.reduce((total, size) => total + size, 0);

const structuredBytes = ({ structuredContent }: ToolResult): number =>
  structuredContent === undefined ? 0 : utf8Length(JSON.stringify(structuredContent) ?? "");

/** Notes that stand for what was kept aside. They are on top of the limit: a cut note would lead nowhere. */
type Notes = ReadonlyMap<ContentBlock, ResultArtifact>;

/** The largest blocks go first, until what stays is small enough. */
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

/** Keeps what fits, in order. A text is cut where the room ends; of an image or a file a half is of no use. */
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

/** The text or base64 data of a block; nothing for links and blocks of unknown types. */
function payloadOf(block: Block): string {
  const resource = block["resource"] as { text?: unknown; blob?: unknown } | null | undefined;
  const payload =
    block["text"] ?? block["data"] ?? block["blob"] ?? block["value"] ?? resource?.text ?? resource?.blob;
  return typeof payload === "string" ? payload : "";
}

/** Bytes of the text or base64 data in a block. */
export const blockBytes = (block: Block): number => utf8Length(payloadOf(block));

/** A figure that the block's bytes cannot exceed, found without looking at the text. */
export const blockBytesAtMost = (block: Block): number => 3 * payloadOf(block).length;

/** The beginning of a text, at most `maxBytes` long in UTF-8, with no character cut in two. */
export function cutText(text: string, maxBytes: number): string {
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(maxBytes));
  return text.slice(0, read);
}

/** Keeps a block aside. It lives as long as its handle. */
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

/** What stands in the result in its place. */
const artifactNote = ({ id, type, mimeType, bytes }: ResultArtifact): ContentBlock => ({
  type: "text",
  text: `[kept aside as artifact ${id}: ${mimeType ?? type}, ${bytes} bytes]`,
});
