/** Prints the result of a call and saves its binary parts. */
import { mkdir, writeFile } from "node:fs/promises";
import { join, relative, resolve } from "node:path";
import type { ToolInfo } from "@toolport/base";
import { type ContentPart, type ToolResult, toContentParts } from "@toolport/core";
import { partNote } from "@toolport/core/internal";
import type { CommandContext } from "./command.js";
import { CliError, EXIT } from "./errors.js";
import { plainLine } from "./plain-text.js";
import { shellWord } from "./shell-words.js";

/** The tool that was called. */
export type CalledTool = Pick<ToolInfo, "server" | "sourceName" | "name">;

/** Prints the result, with `--save-images` its files. Resolves with the exit code. @throws CliError `TOOL_ERROR` */
export async function finishCall(
  result: ToolResult,
  tool: CalledTool,
  context: CommandContext,
): Promise<number> {
  const parts = toContentParts(result.content);
  const folder = context.text("save-images");
  const name = `${tool.server}.${tool.sourceName}`;
  const place = folder && { folder: resolve(context.cwd, folder), stem: `${tool.server}-${tool.sourceName}` };
  const files = place ? await saveBytes(parts, place) : [];
  if (context.form === "json") {
    const { text, content, structuredContent, isError, _meta, server, attempts, durationMs } = result;
    context.printJson({
      server,
      tool: tool.sourceName,
      name: tool.name,
      isError,
      text,
      content,
      structuredContent,
      _meta,
      files: files.length > 0 ? files : undefined,
      attempts,
      durationMs: Math.round(durationMs),
    });
  } else await printParts(parts, result, files, context);
  if (!result.isError) return EXIT.ok;
  throw new CliError(`The tool ${name} reported an error`, `toolport tools ${shellWord(name)}`, {
    code: "TOOL_ERROR",
    exitCode: EXIT.toolError,
    server: result.server,
    tool: tool.sourceName,
  });
}

async function printParts(
  parts: readonly ContentPart[],
  { structuredContent }: ToolResult,
  files: readonly SavedFile[],
  context: CommandContext,
): Promise<void> {
  const only = files.length === 0 && parts.length === 1 ? parts[0] : undefined;
  if (context.form === "raw" && only !== undefined && isBytes(only))
    return context.printBytes(Buffer.from(only.data, "base64"));
  const lines = parts.flatMap((part, index) => {
    const file = files.find((saved) => saved.index === index);
    if (file !== undefined) return `Saved ${shorter(file.path, context.cwd)} (${file.bytes} bytes)`;
    if (context.form === "raw" && part.kind === "text-resource") return part.text;
    return formatPart(part);
  });
  if (lines.length > 0) context.print(lines.join("\n"));
  else if (structuredContent !== undefined) context.print(JSON.stringify(structuredContent, undefined, 2));
  if (files.length === 0 && parts.some(isBytes))
    context.info("Save binary parts with --save-images <dir>", "dim");
}

function shorter(path: string, cwd: string): string {
  const near = relative(cwd, path);
  return near.startsWith("..") ? path : near;
}

/** Media types whose extension is their second part. */
const OWN_ENDING =
  /^(?:image\/(?:png|gif|webp|avif|bmp)|audio\/(?:wav|ogg|flac)|video\/(?:mp4|webm)|application\/(?:pdf|zip|json)|text\/csv)$/;
/** The extensions of others. */
const ENDINGS: Readonly<Record<string, string>> = {
  "image/jpeg": "jpg",
  "image/svg+xml": "svg",
  "audio/x-wav": "wav",
  "audio/mpeg": "mp3",
  "audio/mp4": "m4a",
  "application/gzip": "gz",
  "text/plain": "txt",
};

type SavedFile = Awaited<ReturnType<typeof saveBytes>>[number];

/** A content part with binary data. */
export type BytesPart = Extract<ContentPart, { kind: "image" | "audio" | "blob-resource" }>;

const isBytes = (part: ContentPart): part is BytesPart =>
  part.kind === "image" || part.kind === "audio" || part.kind === "blob-resource";

/** Saves every binary part. Existing files are never overwritten. */
export async function saveBytes(
  parts: readonly ContentPart[],
  { folder, stem }: { folder: string; stem: string },
) {
  const files = [];
  for (const [index, part] of parts.entries()) {
    if (!isBytes(part)) continue;
    await mkdir(folder, { recursive: true });
    const bytes = Buffer.from(part.data, "base64");
    const path = await writeNew(bytes, { folder, stem: safeName(stem), ending: endingOf(part.mimeType) });
    // `index`: of the content part.
    files.push({ index, path, mimeType: part.mimeType ?? null, bytes: bytes.length });
  }
  return files;
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

/** The file extension of a media type; `bin` if it is unknown. */
function endingOf(mimeType = ""): string {
  const type = mimeType.split(";")[0]!.trim().toLowerCase();
  return ENDINGS[type] ?? (OWN_ENDING.test(type) ? type.split("/")[1]! : "bin");
}

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

/** Text keeps its line breaks. Other parts become a note of one line. */
export function formatPart(part: ContentPart): string {
  if (part.kind === "text") return part.text;
  if (part.kind === "text-resource")
    return `${plainLine(partNote({ ...part, kind: "bare-resource" }))}\n${part.text}`;
  return plainLine(partNote(part));
}
