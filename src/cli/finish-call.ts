/** Prints the result of a call and saves its binary parts. */
import { relative, resolve } from "node:path";
import { type ContentPart, toContentParts } from "../content/content-part.js";
import type { ToolResult } from "../execution/tool-result.js";
import { CliError } from "./cli-error.js";
import { type Invocation, textOption } from "./command.js";
import type { CommandContext } from "./command-context.js";
import { EXIT } from "./exit-codes.js";
import { formatPart } from "./format-part.js";
import { shellWord } from "./next-command.js";
import { isBytes, type SavedFile, saveBytes } from "./save-bytes.js";

/** The tool that was called. */
export interface CalledTool {
  readonly server: string;
  readonly sourceName: string;
  /** Public name. */
  readonly name: string;
}

/** Prints the result, with `--save-images` its files. Resolves with the exit code. @throws CliError `TOOL_ERROR` */
export async function finishCall(
  result: ToolResult,
  tool: CalledTool,
  { invocation, context }: { invocation: Invocation; context: CommandContext },
): Promise<number> {
  const parts = toContentParts(result.content);
  const folder = textOption(invocation, "save-images");
  const stem = `${tool.server}-${tool.sourceName}`;
  const files =
    folder === undefined ? [] : await saveBytes(parts, { folder: resolve(context.cwd, folder), stem });
  await printResult(context, { tool, result, parts, files });
  if (!result.isError) return EXIT.ok;
  throw new CliError({
    code: "TOOL_ERROR",
    message: `The tool ${tool.server}.${tool.sourceName} reported an error`,
    next: `toolport tools ${shellWord(`${tool.server}.${tool.sourceName}`)}`,
    exitCode: EXIT.toolError,
    server: result.server,
    tool: tool.sourceName,
  });
}

interface CallOutcome {
  readonly tool: CalledTool;
  readonly result: ToolResult;
  readonly parts: readonly ContentPart[];
  readonly files: readonly SavedFile[];
}

async function printResult(
  context: CommandContext,
  { tool, result, parts, files }: CallOutcome,
): Promise<void> {
  if (context.form === "json") {
    const { text, content, structuredContent, isError, _meta, server, attempts, durationMs } = result;
    context.printJson({
      ...{ server, tool: tool.sourceName, name: tool.name, isError, text, content },
      ...(structuredContent !== undefined && { structuredContent }),
      ...(_meta !== undefined && { _meta }),
      ...(files.length > 0 && { files }),
      ...{ attempts, durationMs: Math.round(durationMs) },
    });
    return;
  }
  const [only] = parts;
  if (
    context.form === "raw" &&
    files.length === 0 &&
    parts.length === 1 &&
    only !== undefined &&
    isBytes(only)
  )
    return context.printBytes(Buffer.from(only.data, "base64"));
  const lines = parts.flatMap((part, index) => {
    const file = files.find((saved) => saved.index === index);
    if (file !== undefined) return `Saved ${shorter(file.path, context.cwd)} (${file.bytes} bytes)`;
    if (context.form === "raw" && part.kind === "text-resource") return part.text;
    return formatPart(part);
  });
  if (lines.length > 0) context.print(lines.join("\n"));
  else if (result.structuredContent !== undefined)
    context.print(JSON.stringify(result.structuredContent, undefined, 2));
  if (files.length === 0 && parts.some(isBytes))
    context.info("Save binary parts with --save-images <dir>", "dim");
}

function shorter(path: string, cwd: string): string {
  const near = relative(cwd, path);
  return near.startsWith("..") ? path : near;
}
