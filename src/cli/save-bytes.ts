/** Saves binary content of servers as files. Toolport chooses the file names; servers have no influence on them. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ContentPart } from "../content/content-part.js";

/** File extensions by media type. Other types get `bin`. */
const ENDINGS: Readonly<Record<string, string>> = {
  "image/png": "png",
  "image/jpeg": "jpg",
  "image/gif": "gif",
  "image/webp": "webp",
  "image/svg+xml": "svg",
  "image/avif": "avif",
  "image/bmp": "bmp",
  "audio/wav": "wav",
  "audio/x-wav": "wav",
  "audio/mpeg": "mp3",
  "audio/ogg": "ogg",
  "audio/flac": "flac",
  "audio/mp4": "m4a",
  "video/mp4": "mp4",
  "video/webm": "webm",
  "application/pdf": "pdf",
  "application/zip": "zip",
  "application/gzip": "gz",
  "application/json": "json",
  "text/plain": "txt",
  "text/csv": "csv",
};

export interface SavedFile {
  /** Index of the content part. */
  readonly index: number;
  readonly path: string;
  readonly mimeType: string | null;
  readonly bytes: number;
}

/** A content part with binary data. */
export type BytesPart = Extract<ContentPart, { kind: "image" | "audio" | "blob-resource" }>;

export const isBytes = (part: ContentPart): part is BytesPart =>
  part.kind === "image" || part.kind === "audio" || part.kind === "blob-resource";

/** Saves every binary part. Existing files are never overwritten. */
export async function saveBytes(
  parts: readonly ContentPart[],
  { folder, stem }: { folder: string; stem: string },
): Promise<SavedFile[]> {
  const saved: SavedFile[] = [];
  for (const [index, part] of parts.entries()) {
    if (!isBytes(part)) continue;
    await mkdir(folder, { recursive: true });
    const bytes = Buffer.from(part.data, "base64");
    const path = await writeNew(bytes, { folder, stem: safeName(stem), ending: endingOf(part.mimeType) });
    saved.push({ index, path, mimeType: part.mimeType ?? null, bytes: bytes.length });
  }
  return saved;
}

/** A file name of letters, digits, dots and dashes that is not empty, hidden, reserved or too long. */
export function safeName(text: string): string {
  const name = text
    .normalize("NFKD")
    .replace(/[^A-Za-z0-9._-]+/g, "-")
    .replace(/\.{2,}/g, ".")
    .replace(/^[-.]+|[-.]+$/g, "")
    .slice(0, 80);
  return name === "" || /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/i.test(name) ? `file-${name}` : name;
}

const endingOf = (mimeType: string | undefined): string =>
  ENDINGS[(mimeType ?? "").split(";")[0]!.trim().toLowerCase()] ?? "bin";

async function writeNew(
  bytes: Uint8Array,
  { folder, stem, ending }: { folder: string; stem: string; ending: string },
): Promise<string> {
  for (let count = 1; ; count += 1) {
    const path = join(folder, `${stem}-${count}.${ending}`);
    try {
      // `wx` fails for an existing link instead of following it.
      await writeFile(path, bytes, { flag: "wx" });
      return path;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST" || count >= 10_000) throw error;
    }
  }
}
