/** Makes a result smaller: moves its largest blocks to artifacts, or cuts its texts. Loaded with the first result that is too large. */

import {
  describeCut,
  describeShape,
  type FittedText,
  fitOutline,
  type Outline,
  outlineText,
  readOn,
  utf8Length,
} from "@toolport/base";
import {
  type ContentBlock,
  type ResultArtifact,
  type StructuredBlock,
  type ToolResult,
  textOf,
} from "../tool-result.js";
import { payloadOf, TRUNCATED_META_KEY, type Truncation } from "./result-payload.js";

/** Smaller blocks are not worth replacing, because the note has about the same size. */
const SMALLEST_SPILL = 256;

/** Keeps a text so that it can be read with `read_artifact`; undefined if it cannot be kept. */
export type KeepText = (text: string, mimeType: string | undefined) => string | undefined;

/** Notes in place of artifacts. They do not count for the limit, because a truncated note is useless. */
type Notes = ReadonlyMap<ContentBlock, ResultArtifact>;

const sum = (sizes: readonly number[]): number => sizes.reduce((total, size) => total + size, 0);

const structuredText = ({ structuredContent }: ToolResult): string =>
  structuredContent === undefined ? "" : (JSON.stringify(structuredContent) ?? "");

/** Replaces the largest blocks first, until the rest is small enough. */
export function spillResult(
  result: ToolResult,
  limit: number,
  { createId, keep }: { createId: () => string; keep: KeepText | undefined },
): { rest: ToolResult; notes: Notes } {
  const sizes = result.content.map(blockBytes);
  const content = [...result.content];
  const notes = new Map<ContentBlock, ResultArtifact>();
  const move = (block: ContentBlock | StructuredBlock, bytes: number, text: string | undefined) => {
    const mimeType = mimeTypeOf(block);
    const id = text === undefined ? undefined : keep?.(text, mimeType);
    const artifact: ResultArtifact = {
      id: id ?? createId(),
      type: block.type,
      ...(mimeType !== undefined && { mimeType }),
      bytes,
      // The handle keeps the block in memory.
      read: async () => block,
    };
    const note = artifactNote(artifact, id === undefined ? undefined : text);
    notes.set(note, artifact);
    return note;
  };
  const bySize = sizes.map((bytes, index) => ({ bytes, index })).sort((a, b) => b.bytes - a.bytes);
  let total = sum(sizes);
  for (const { bytes, index } of bySize) {
    const block = content[index];
    if (total <= limit || bytes <= SMALLEST_SPILL || block === undefined) break;
    content[index] = move(block, bytes, textOfBlock(block));
    total -= bytes;
  }
  const { structuredContent, ...rest } = result;
  const structured = structuredText(result);
  const structuredBytes = utf8Length(structured);
  const isStructuredKept = structuredBytes <= limit;
  if (!isStructuredKept)
    content.push(move({ type: "structuredContent", structuredContent }, structuredBytes, structured));
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

/** Replaces the block in the result. */
function artifactNote({ id, type, mimeType, bytes }: ResultArtifact, text: string | undefined): ContentBlock {
  const what = `moved to artifact ${id}: ${mimeType ?? type}, ${bytes} bytes`;
  if (text === undefined) return { type: "text", text: `[${what}]` };
  const outline = outlineText(text);
  return { type: "text", text: `[${what}. Shape: ${describeShape(outline)}. ${readOn(id, 0, outline)}]` };
}

/** Cuts the texts, removes what cannot be cut, and says so in a block in front. */
export function truncateResult(
  result: ToolResult,
  limit: number,
  { notes, keep }: { notes?: Notes; keep?: KeepText | undefined } = {},
): ToolResult {
  const { structuredContent, ...rest } = result;
  const sizes = result.content.map((block) => (notes?.has(block) ? 0 : blockBytes(block)));
  const totalBytes = sum(sizes);
  const structured = structuredText(result);
  const structuredBytes = utf8Length(structured);
  const isStructuredKept = structuredBytes <= limit;
  if (totalBytes <= limit && isStructuredKept) return result;
  const { content, bytes, cut, isWhole } = cutContent(result.content, sizes, limit);
  // Compact JSON was small enough.
  if (isWhole && isStructuredKept) return { ...result, content, text: textOf(content) };
  const mark: Truncation = { bytes, totalBytes, ...(!isStructuredKept && { structuredBytes }) };
  const without = isStructuredKept ? "" : `, without ${structuredBytes} bytes of structured content`;
  const rests = describeRest(cut, { structured: isStructuredKept ? "" : structured, keep });
  const note = `[truncated: ${bytes} of ${totalBytes} bytes${without}${rests === "" ? "" : `. ${rests}`}]`;
  // In front: behind cut JSON, models take a note for data.
  const marked: ContentBlock[] = [{ type: "text", text: note }, ...content];
  return {
    ...rest,
    content: marked,
    text: textOf(marked),
    ...(isStructuredKept && { structuredContent }),
    _meta: { ...result._meta, [TRUNCATED_META_KEY]: mark },
  };
}

interface CutText {
  readonly text: string;
  readonly mimeType: string | undefined;
  readonly outline: Outline;
  readonly fitted: FittedText;
}

/** What the cut texts contain, and how the rest can be read. */
function describeRest(
  cut: readonly CutText[],
  { structured, keep }: { structured: string; keep: KeepText | undefined },
): string {
  const [first, ...others] = cut;
  const said: string[] = [];
  if (first !== undefined && others.length === 0) {
    said.push(describeCut({ ...first, id: keep?.(first.text, first.mimeType) }));
  } else if (first !== undefined) {
    const text = cut.map((each) => each.text).join("\n");
    const id = keep?.(text, undefined);
    const parts = `${cut.length} texts are cut or left out.`;
    said.push(id === undefined ? parts : `${parts} ${readOn(id, 0, { unit: "lines" })}`);
  }
  // Most servers send the same as text.
  if (structured === "" || cut.some(({ outline }) => outline.json?.text === structured))
    return said.join(" ");
  const id = keep?.(structured, "application/json");
  if (id !== undefined) said.push(`The structured content: ${readOn(id, 0, outlineText(structured))}`);
  return said.join(" ");
}

/** Keeps the blocks that fit, in order. Texts are cut; half an image or file would be useless. */
function cutContent(
  blocks: readonly ContentBlock[],
  sizes: readonly number[],
  limit: number,
): { content: ContentBlock[]; bytes: number; cut: CutText[]; isWhole: boolean } {
  let left = limit;
  let isWhole = true;
  const cut: CutText[] = [];
  const content = blocks.flatMap((block, index): ContentBlock[] => {
    const size = sizes[index] ?? 0;
    if (size <= left) {
      left -= size;
      return [block];
    }
    const text = textOfBlock(block);
    if (text === undefined) {
      isWhole = false;
      return [];
    }
    const outline = outlineText(text);
    const fitted = fitOutline(outline, left);
    if (fitted.shown !== undefined) cut.push({ text, mimeType: mimeTypeOf(block), outline, fitted });
    left -= utf8Length(fitted.text);
    return fitted.text === "" ? [] : [withText(block, fitted.text)];
  });
  return { content, bytes: limit - left, cut, isWhole: isWhole && cut.length === 0 };
}

/** A block whose fields have not been checked. */
type Block = Readonly<Record<string, unknown>>;

const resourceOf = (block: Block): Block | undefined => {
  const resource = block["resource"];
  return typeof resource === "object" && resource !== null ? (resource as Block) : undefined;
};

/** The text of a text block or of an embedded resource. */
function textOfBlock(block: Block): string | undefined {
  const text = block["type"] === "text" ? block["text"] : resourceOf(block)?.["text"];
  return typeof text === "string" ? text : undefined;
}

const withText = (block: ContentBlock, text: string): ContentBlock =>
  (block.type === "text"
    ? { ...block, text }
    : { ...block, resource: { ...resourceOf(block), text } }) as ContentBlock;

function mimeTypeOf(block: Block): string | undefined {
  const mimeType = block["mimeType"] ?? resourceOf(block)?.["mimeType"];
  return typeof mimeType === "string" ? mimeType : undefined;
}

/** Size of the text or base64 data of a block. */
const blockBytes = (block: Block): number => utf8Length(payloadOf(block));
