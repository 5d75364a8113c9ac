/** How large a block of content is, and how it is made smaller. */
import { utf8Length } from "../util/utf8-length.js";

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
