/** A part of a result that was too large to hand on, kept aside for whoever wants it. */
import type { ContentBlock } from "./tool-result.js";

/** Structured content in the form of a block. */
export type StructuredBlock = { readonly type: "structuredContent"; readonly structuredContent: unknown };

/** Handle of a part that was kept aside. */
export interface ResultArtifact {
  /** Unlike any other; the note in the result names it. */
  readonly id: string;
  /** Type of the block: `text`, `image`, `audio`, `resource`, or `structuredContent`. */
  readonly type: string;
  readonly mimeType?: string | undefined;
  /** Its size as it was sent: UTF-8 for text, base64 for anything else. */
  readonly bytes: number;
  /** The whole block, as the server sent it. */
  read(): Promise<ContentBlock | StructuredBlock>;
}

/** Keeps a block aside. It lives as long as its handle. */
export function keepBlock(id: string, block: ContentBlock | StructuredBlock, bytes: number): ResultArtifact {
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
export const artifactNote = ({ id, type, mimeType, bytes }: ResultArtifact): ContentBlock => ({
  type: "text",
  text: `[kept aside as artifact ${id}: ${mimeType ?? type}, ${bytes} bytes]`,
});
