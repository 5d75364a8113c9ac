/** What counts for the size of a result, and the mark of one that was cut. */

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

/** The text or base64 data of a block, whose fields have not been checked; empty for links and unknown types. */
export function payloadOf(block: Readonly<Record<string, unknown>>): string {
  const resource = block["resource"] as { text?: unknown; blob?: unknown } | null | undefined;
  const payload =
    block["text"] ?? block["data"] ?? block["blob"] ?? block["value"] ?? resource?.text ?? resource?.blob;
  return typeof payload === "string" ? payload : "";
}
