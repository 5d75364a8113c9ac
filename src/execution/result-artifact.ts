/** A part of a result that was too large to hand on, kept aside for whoever wants it. */
import type { ContentBlock } from "./tool-result.js";

/** Handle of a part that was kept aside. */
export interface ResultArtifact {
  /** Unlike any other; the note in the result names it. */
  readonly id: string;
  /** Type of the block: `text`, `image`, `audio`, `resource`, or `structuredContent`. */
  readonly type: string;
  readonly mimeType?: string | undefined;
  /** Its size as it was sent: UTF-8 for text, base64 for anything else. */
  readonly bytes: number;
  /** The whole block, as it came; structured content stands in its field `structuredContent`. */
  read(): Promise<ContentBlock>;
}

/** Keeps a block aside. It lives as long as its handle. */
export function keepBlock(id: string, block: ContentBlock, bytes: number): ResultArtifact {
  const resource = block["resource"] as { mimeType?: unknown } | null | undefined;
  const mimeType = block["mimeType"] ?? resource?.mimeType;
  return {
    id,
    type: block.type,
    ...(typeof mimeType === "string" && { mimeType }),
    bytes,
    read: async () => block,
  };
}

/** What stands in the result in its place. */
export const artifactNote = ({ id, type, mimeType, bytes }: ResultArtifact): ContentBlock => ({
  type: "text",
  text: `[kept aside as artifact ${id}: ${mimeType ?? type}, ${bytes} bytes]`,
});
