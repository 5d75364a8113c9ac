/** The two things that matter in a `Content-Type`. */
import type { WireAnswer } from "./wire.js";

/** Type and subtype in lower case, without parameters; empty where there is none. */
export function mediaType(contentType: string | null): string {
  if (contentType === null) return "";
  const end = contentType.indexOf(";");
  return (end === -1 ? contentType : contentType.slice(0, end)).trim().toLowerCase();
}

/** A success whose body is a stream of events. */
export const isEventStream = ({ status, headers }: WireAnswer): boolean =>
  status >= 200 && status < 300 && mediaType(headers.get("content-type")) === "text/event-stream";

const utf8 = new TextDecoder();

/** Decodes by the `charset` parameter, UTF-8 without one; undefined where the runtime does not know the charset. */
export function decodeText(bytes: Uint8Array, contentType: string | null): string | undefined {
  if (contentType === null || !contentType.includes(";")) return utf8.decode(bytes);
  const label = /;\s*charset\s*=\s*"?([^\s";]+)/i.exec(contentType)?.[1]?.toLowerCase();
  if (label === undefined || label === "utf-8" || label === "utf8") return utf8.decode(bytes);
  try {
    return new TextDecoder(label).decode(bytes);
  } catch {
    return undefined;
  }
}
